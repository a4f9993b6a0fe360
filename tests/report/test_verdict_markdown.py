"""The comparison in a pull request: the verdict in the first line, the calm rows folded, no markup of strangers."""

from __future__ import annotations

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.report.verdict_markdown import render_verdicts_markdown
from tests.analysis.verdicts import comparison, result


def test_the_first_line_is_the_answer() -> None:
    text = render_verdicts_markdown(comparison(result("slower", 1.08, title="add"), result("same", title="mul")))
    assert text.splitlines()[0] == "🔴 **The branch is slower. 1 slower, 1 same.**"
    assert render_verdicts_markdown(comparison(result("same"))).startswith("🟢 **Nothing is slower.")


def test_what_changed_is_shown_and_the_rest_folded() -> None:
    text = render_verdicts_markdown(comparison(result("slower", 1.08, title="add"), result("same", title="mul")))
    assert text.index("| **slower** |") < text.index("<details><summary>1 same</summary>") < text.index("| mul |")


def test_causes_are_folded_too() -> None:
    text = render_verdicts_markdown(comparison(result("slower", 1.08, cause="more instructions and slower")))
    assert text.index("Causes and notes") < text.index("more instructions and slower")


def test_failures() -> None:
    failure = ComparisonFailure("id", "mul", "base", "ValueError: no")
    text = render_verdicts_markdown(comparison(failures=(failure,), not_reached=("late",)))
    assert "failed on the base side: mul: ValueError: no" in text
    assert "not reached within the budget: late" in text


def test_strangers_text_is_no_markup() -> None:
    evil = "</summary><script>x</script> |a| @someone [x](http://y) `code`"
    whole = comparison(
        result("slower", 1.08, title=evil, cause=evil, warnings=(evil,)),
        failures=(ComparisonFailure("id", evil, "base", evil),),
        warnings=(evil,),
    )
    text = render_verdicts_markdown(whole)
    assert "<script>" not in text
    assert "@someone" not in text
    assert "http://" not in text
    assert "|a|" not in text.replace("\\|", "")
    assert text.count("<details>") == text.count("</details>") == 2
