"""Own metrics of two sides, run by run; and allocations of both."""

from __future__ import annotations

import pytest

from photometer.analysis.figure_change import judge_metric, memory_change
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.task import TaskSpec
from photometer.report.verdict_text import headline, render_verdicts
from tests.analysis.verdicts import comparison, result


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


def measured(*figures: MemoryFigures, device: tuple[MemoryFigures, ...] = ()) -> MemoryMeasurement:
    return MemoryMeasurement(TaskSpec("f(x)"), figures, "cuda:0" if device else "", device)


SMALL, LARGE = MemoryFigures(4096, 8192, 2), MemoryFigures(8192, 12288, 3)


@pytest.mark.parametrize(
    ("base", "branch", "word"),
    [
        ((SMALL,), (SMALL,), "equal"),
        ((SMALL,), (LARGE,), "more"),
        ((LARGE,), (SMALL,), "less"),
        ((MemoryFigures(8, 8, 1),), (MemoryFigures(4, 16, 4),), "mixed"),
        # Both sides differ from run to run, and overlap.
        ((SMALL, LARGE), (LARGE, LARGE), "unsteady"),
        ((SMALL, SMALL), (SMALL, LARGE), "unsteady"),
        # One more byte in every run is a change.
        ((SMALL,) * 3, (MemoryFigures(4096, 8193, 2),) * 3, "more"),
    ],
)
def test_verdicts(base: tuple[MemoryFigures, ...], branch: tuple[MemoryFigures, ...], word: str) -> None:
    change = memory_change(measured(*base), measured(*branch))
    assert change.verdict == word
    assert bool(change.sentence) == (word != "equal")


def test_the_sentence_says_by_how_much() -> None:
    change = memory_change(measured(SMALL), measured(LARGE))
    assert change.sentence == (
        "allocates 4.0 KiB more (from 8.0 KiB to 12.0 KiB), in 1 more block; its peak is 4.0 KiB higher"
    )
    fewer = memory_change(measured(SMALL), measured(MemoryFigures(4096, 8192, 1)))
    assert fewer.sentence == "allocates as much, in 1 fewer block"
    leak = memory_change(measured(SMALL), measured(MemoryFigures(4096, 8192, 2, 1024)))
    assert leak.sentence == "each run keeps 1.0 KiB more"


def test_an_accelerator_is_judged_by_its_own_memory() -> None:
    change = memory_change(measured(SMALL, device=(SMALL,)), measured(SMALL, device=(LARGE,)))
    assert (change.verdict, change.device) == ("more", "cuda:0")
    assert change.sentence.endswith("on cuda:0")


def test_a_comparison_shows_it_beside_the_time() -> None:
    change = memory_change(measured(SMALL), measured(LARGE))
    compared = comparison(result("same", title="add", memory=change), result("same", title="mul"))
    assert "1 allocates more" in headline(compared)
    assert "memory: allocates 4.0 KiB more" in render_verdicts(compared, 200)
    assert [each.title for each in compared.memory_changes("more")] == ["add"]
