"""Own metrics of two sides, run by run."""

from __future__ import annotations

import pytest

from photometer.analysis.figure_change import judge_metric


@pytest.mark.parametrize(
    ("branch", "word"),
    [
        ((3.0, 2.0), "identical"),
        ((3.0000001, 2.0), "same"),
        ((3.3, 2.2), "higher"),
        ((3.3, 2.0), "higher"),
        ((2.7, 1.8), "lower"),
        ((3.3, 1.8), "mixed"),
    ],
)
def test_words(branch: tuple[float, ...], word: str) -> None:
    change = judge_metric("id", "MLP", "loss", (3.0, 2.0), branch)
    assert change.verdict == word
    assert change.sentence.startswith("loss of MLP: ")


def test_the_sentence_names_both_values() -> None:
    change = judge_metric("id", "MLP", "loss", (2.0, 2.0), (2.2, 2.2))
    assert change.sentence == "loss of MLP: higher by 10 % in every run, 2 on the base and 2.2 on the branch"
    assert judge_metric("id", "m", "zero", (0.0,), (1.0,)).sentence.startswith("zero of m: higher in every run")
