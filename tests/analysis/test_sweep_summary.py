"""A judged sweep in one line."""

from __future__ import annotations

import pytest

from photometer.analysis.sweep_summary import JudgedPoint, summaries, summary_words


def points(*words: str) -> list[JudgedPoint]:
    ratios = {"slower": 1.1, "faster": 0.8}
    return [
        JudgedPoint((("n", 2**place),), word, ratios.get(word, 1.0) + 0.001 * place) for place, word in enumerate(words)
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("same",) * 3, "same at all 3 points"),
        (("slower",) * 3, "slower at all 3 points, at most +10 % at n = 4"),
        (
            ("same", "slower", "slower"),
            "slower from n = 2 on (2 of 3 points), at most +10 % at n = 4; same at the other point",
        ),
        (
            ("faster", "same", "same"),
            "faster up to n = 1 (1 of 3 points), at most -20 % at n = 1; same at the other 2 points",
        ),
        (("same", "undecided", "same"), "undecided at 1 of 3 points (n = 2); same at the other 2 points"),
        (
            ("slower", "same", "slower", "faster"),
            "slower at 2 of 4 points (n = 1; n = 4), at most +10 % at n = 4; "
            "faster from n = 8 on (1 of 4 points), at most -20 % at n = 8; same at the other point",
        ),
    ],
)
def test_words(words: tuple[str, ...], said: str) -> None:
    assert summary_words(points(*words)) == said


def test_only_benchmarks_with_several_points_are_summed_up() -> None:
    judged = [("a", point) for point in points("same", "same")]
    judged += [("b", point) for point in points("slower")] + [("c", JudgedPoint((), "slower", 2.0))]
    assert [each.sentence for each in summaries(judged)] == ["a: same at all 2 points"]
