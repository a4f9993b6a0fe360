"""A comparison in the terminal and in a pull request: the answer first, details below or folded, text stays text."""

from __future__ import annotations

import dataclasses
import math

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonSkip
from photometer.analysis.verdict import DetectableChange
from photometer.report.verdict_text import (
    headline,
    render_verdicts,
    render_verdicts_markdown,
)
from tests.analysis.verdicts import comparison, result, verdict


def test_the_answer_comes_first_and_rows_by_importance() -> None:
    text = render_verdicts(
        comparison(
            result("same", title="calm"),
            result("slower", 1.081, title="grew", cause="more instructions and slower: +9"),
            warnings=("the processor's clock moved",),
        )
    )
    lines = text.splitlines()
    assert lines[0] == "The branch is slower. 1 slower, 1 same within 0.3 %."
    assert lines.index("  ! the processor's clock moved") < text[: text.index("grew")].count("\n")
    assert text.index("grew") < text.index("more instructions and slower") < text.index("calm")
    assert "+8.1 %" in text
    assert "1.00 µs" in text
    assert "+81 ns" in text
    assert "12.5 s measured" in text


def test_an_undecided_row_says_what_more_time_would_give() -> None:
    text = " ".join(render_verdicts(comparison(result("undecided"))).split())
    assert text.startswith("Undecided:")
    assert "because it is undecided" in text
    assert "a change of 0.35 % would be seen with twice the time, of 0.30 % with four times" in text


def test_a_same_row_has_no_details() -> None:
    assert "because" not in render_verdicts(comparison(result("same")))


def test_failures_and_what_was_not_reached() -> None:
    failure = ComparisonFailure("id", "mul", "branch", "ValueError: no", "\n".join(f"line {i}" for i in range(20)))
    text = render_verdicts(comparison(result("same"), failures=(failure,), not_reached=("late",)))
    assert "failed on the branch side: mul: ValueError: no" in text
    assert "line 19" in text
    assert "line 3\n" not in text
    assert "not reached in time: late" in text
    assert headline(comparison()) == "Nothing ran."


def test_what_was_skipped_for_one_reason_shares_a_line() -> None:
    skips = [ComparisonSkip(name, name, "", "needs AVX") for name in "abcd"]
    skips.append(ComparisonSkip("e", "e", "base", "is new", place=0))
    whole = comparison(result("same"), skips=tuple(skips))
    assert headline(whole).endswith("1 same within 0.3 %, 5 skipped.")
    text = render_verdicts(whole)
    assert "  4 skipped: needs AVX (a, b, c and 1 more)\n  1 skipped on the base side: is new (e)\n" in text
    assert "- 1 skipped on the base side: is new (e)" in render_verdicts_markdown(whole)
    nothing = comparison(skips=tuple(skips))
    assert (headline(nothing), nothing.outcome) == ("Nothing was compared. 5 skipped.", "fine")


def test_hostile_text_does_not_act_on_the_terminal() -> None:
    text = render_verdicts(comparison(result("slower", 1.1, title="a\x1b[31m\nb", warnings=("w\x1b]0;x\x07",))))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "a\\x1b[31m\\nb" in text


def test_colour_only_where_asked_for() -> None:
    assert "\x1b[1;31mslower" in render_verdicts(comparison(result("slower", 1.1)), colour=True)
    assert "\x1b" not in render_verdicts(comparison(result("slower", 1.1)))


def test_lines_fit_the_width() -> None:
    long = result("slower", 1.1, cause="many words " * 30)
    details = [line for line in render_verdicts(comparison(long), width=60).splitlines() if "many words" in line]
    assert len(details) > 3
    assert all(len(line) <= 60 for line in details)


def test_an_unknown_detectable_change() -> None:
    unknown = DetectableChange(math.inf, math.inf, math.inf)
    one = result("undecided")
    open_one = type(one)("id", "x", verdict("undecided", detectable=unknown))
    text = render_verdicts(comparison(open_one))
    assert " ? " not in text
    assert "twice the time" not in text


def test_the_first_line_of_markdown_is_the_answer() -> None:
    text = render_verdicts_markdown(comparison(result("slower", 1.08, title="add"), result("same", title="mul")))
    assert text.splitlines()[0] == "🔴 **The branch is slower. 1 slower, 1 same within 0.3 %.**"
    assert render_verdicts_markdown(comparison(result("same"))).startswith(
        "🟢 **Nothing is slower: no difference above 0.3 %."
    )


def test_markdown_shows_what_changed_and_folds_the_rest() -> None:
    text = render_verdicts_markdown(comparison(result("slower", 1.08, title="add"), result("same", title="mul")))
    assert text.index("| **slower** |") < text.index("<details><summary>1 same</summary>") < text.index("| mul |")


def test_markdown_folds_causes_too() -> None:
    text = render_verdicts_markdown(comparison(result("slower", 1.08, cause="more instructions and slower")))
    assert text.index("Causes and notes") < text.index("more instructions and slower")


def test_markdown_names_failures() -> None:
    failure = ComparisonFailure("id", "mul", "base", "ValueError: no")
    text = render_verdicts_markdown(comparison(failures=(failure,), not_reached=("late",)))
    assert "failed on the base side: mul: ValueError: no" in text
    assert "not reached in time: late" in text


def test_hostile_text_is_no_markup() -> None:
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


def test_margins_that_differ_are_both_named() -> None:
    both = comparison(result("same"), dataclasses.replace(result("same"), judged=verdict("same", 1.0, margin=0.02)))
    assert both.margin_words == "0.30 % to 2.0 %, depending on the benchmark,"
    assert comparison(result("same")).margin_words == "0.30 %"
