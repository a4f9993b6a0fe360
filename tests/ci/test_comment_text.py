"""The comment: verdict first, below GitHub's limit, with nothing in it that a label could do."""

from __future__ import annotations

import dataclasses
import re

import pytest

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.ci.acceptance import Acceptance
from photometer.ci.comment_text import LARGEST_COMMENT, marker, render_comment, render_summary
from photometer.ci.github_run import LARGEST_SUMMARY
from tests.analysis.verdicts import result
from tests.ci.reviews import HOSTILE, memory, more_instructions, review


def test_the_verdict_stands_first_and_the_rest_is_folded() -> None:
    slower = result("slower", 1.03, "block", cause="more instructions and slower: new under gate (net/model.py:41)")
    made = review(slower, result("identical", title="add"), result("faster", 0.9, "mul"))
    first, second, *rest = render_comment(made, "https://example.org/runs/1").splitlines()
    assert first == marker("suite") == "<!-- photometer-comment suite -->"
    assert second.startswith("🔴 **The branch is slower.")
    text = "\n".join(rest)
    assert "| **slower** | block | +3.0 % |" in text
    assert "It fails" not in text
    assert "new under gate (net/model.py:41)" in text
    assert re.search(r"<details><summary>1 unchanged</summary>\s+add\s+</details>", text)
    assert text.index("block") < text.index("mul") < text.index("1 unchanged")
    assert "[page and bundle](https://example.org/runs/1)" in text


def test_what_is_allowed_and_what_is_accepted() -> None:
    failing = render_comment(review(result("slower", 1.08), fail_on="slower:5%"))
    assert "**The check fails because of**\n- add: slower by 8.0 %, more than the 5 % allowed" in failing
    allowed = render_comment(review(result("slower", 1.03), fail_on="slower:5%"))
    assert "🟡" in allowed
    assert "within what is allowed" in allowed
    assert "It fails" not in allowed
    accepted = render_comment(review(result("slower", 1.03, accepted="needed (commit abc)")))
    assert "🟢 **Nothing is slower except what is accepted." in accepted
    assert "1 slower (accepted: needed" in accepted
    assert "| accepted | add |" in accepted
    assert "- add: needed (commit abc)" in accepted
    more = review(result("same", memory=memory("more", 1000, 2000)), fail_on="memory:0")
    assert "- add: 1,000 B more memory at its peak" in render_comment(more)
    counted = review(result("same", instructions=more_instructions(0.1)), fail_on="instructions:1%")
    assert "10 % more instructions, more than the 1 % allowed" in render_comment(counted)


def test_the_line_that_accepts_a_change_can_be_pasted() -> None:
    title = 'sizes › gate "x" [eager, n=64]'
    text = render_comment(review(result("slower", 1.1, title), result("same", title="add")))
    line = re.search(r"```text\n(photometer: accept .*) REASON\n```", text)
    assert line is not None
    (acceptance,) = re.findall(r"accept (.*)", line[1] + " the check is needed")
    assert Acceptance(acceptance, "").reason_for(title) == "the check is needed"
    assert Acceptance(acceptance, "").reason_for("add") is None
    assert "```" not in render_comment(review(result("same")))


def test_many_sides_are_distinct() -> None:
    made = review(
        result("same", title="add"),
        result("slower", 1.1, "add", side=2),
        result("faster", 0.5, "mul", side=2),
        names=("v1", "v2", "v3"),
        failures=(ComparisonFailure("id", "div", "v2", "ValueError", place=1),),
        fail_on="slower:5%",
    )
    text = render_comment(made)
    assert "🔴 **Slower than v1: v3 in 1 of 3 benchmarks." in text
    assert "v2, v3 against v1" in text
    assert "- add: v3: slower by 10 %, more than the 5 % allowed" in text
    assert "| **slower** | add on v3 | +10 % |" in text
    assert "| faster | mul on v3 |" in text
    assert "- div on v2: ValueError" in text
    assert re.search(r"<details><summary>1 unchanged</summary>\s+add on v2\s+</details>", text)
    summary = render_summary(made)
    assert "| benchmark | v1 | v2 | v3 | changed at |" in summary
    assert summary.count("Slower than v1") == 1


@pytest.mark.parametrize("title", ["an operation of a suite that has many of them", HOSTILE, "@😀|" * 40])
@pytest.mark.parametrize("word", ["slower", "identical"])
def test_five_hundred_benchmarks_stay_below_the_limit(title: str, word: str) -> None:
    results = [result(word, 1.1, f"{title} {n}", cause=title * 20, accepted="" if n % 2 else title) for n in range(500)]  # type: ignore[arg-type]
    failures = tuple(ComparisonFailure(str(n), title, "base", title * 50, title) for n in range(100))
    text = render_comment(review(*results, failures=failures, warnings=(title * 99,) * 50), "https://example.org")
    assert len(text.encode("utf-16-le", "surrogatepass")) // 2 < LARGEST_COMMENT
    assert text.startswith("<!-- photometer-comment suite -->\n🔴 **")
    assert text.count("<details>") == text.count("</details>")
    if word == "identical":
        assert "500 unchanged" in text


def test_labels_do_nothing() -> None:
    made = review(
        result("slower", 1.1, HOSTILE, cause=HOSTILE, accepted=""),
        result("same", 1.0, HOSTILE + "2"),
        warnings=(HOSTILE,),
        failures=(ComparisonFailure("id", HOSTILE, "base", HOSTILE),),
    )
    made = dataclasses.replace(made, name=HOSTILE)
    for text in (render_comment(made, HOSTILE), render_summary(made, HOSTILE)):
        assert "<script" not in text
        assert not re.search(r"(?<!&#64;)@team", text)
        assert "https://evil" not in text
        assert "[x](" not in text.replace("\\[x\\](", "")
        assert "\x1b" not in text
        assert "\ud800" not in text
        # Every row of a table has as many cells as its head.
        for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
            counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().splitlines()}
            assert len(counts) == 1
    assert re.fullmatch(r"<!-- photometer-comment [^<>]* -->", marker(HOSTILE))
    assert "--" not in marker(HOSTILE)[4:-3]
    assert "[page and bundle]()" in render_comment(made, "javascript:alert(1)")


def test_a_summary_has_all_verdicts_and_a_limit() -> None:
    small = review(result("slower", 1.1, "add"), result("identical", title="mul"))
    assert "mul" in render_summary(small)
    many = [result("slower", 1.1, f"{n} {'x' * 100}", cause="y" * 2000) for n in range(1000)]
    assert len(render_summary(review(*many)).encode()) < LARGEST_SUMMARY
