"""ab on real servers: what is ten times the work is slower, and the answer has its parts."""

from __future__ import annotations

import pytest

import photometer
from photometer.errors import DefinitionError, SnippetError
from tests.compiled import ADDS_TEN_TIMES, ONES

pytestmark = pytest.mark.lengthy

SETUP = "x = torch.ones(64)"
ONCE = "torch.add(x, x)"
# Far more seconds than the verdict takes, which ends the measurement.
BUDGET = 120.0
# A difference that no load hides.
TEN_TIMES = "for _ in range(10): torch.add(x, x)"


def test_ten_times_the_work_is_slower() -> None:
    seen: list[photometer.Verdict] = []
    verdict = photometer.ab(ONCE, TEN_TIMES, setup=SETUP, callback=seen.append, budget=BUDGET)
    assert verdict.verdict == "slower"
    assert verdict.interval[0] > 2
    assert verdict.interval[0] <= verdict.ratio <= verdict.interval[1]
    assert verdict.difference_seconds > 0
    assert verdict.replicates == len(seen)


def test_and_the_other_way_round_faster() -> None:
    verdict = photometer.ab(TEN_TIMES, ONCE, setup=SETUP, budget=BUDGET)
    assert verdict.verdict == "faster"


def test_own_setup_for_the_second() -> None:
    other = "def f():\n    for _ in range(100): pass"
    verdict = photometer.ab("f()", "f()", setup="def f(): pass", setup_b=other, budget=BUDGET)
    assert verdict.verdict == "slower"


def test_mistakes_are_told() -> None:
    with pytest.raises(SnippetError, match="NameError") as told:
        photometer.ab("nothing_here", "pass")
    assert "setup=" in str(told.value)
    with pytest.raises(DefinitionError, match="budget"):
        photometer.ab("pass", "pass", budget=0)
    with pytest.raises(DefinitionError, match=r"C\+\+ only"):
        photometer.ab("pass", "pass", global_setup="#include <vector>")


@pytest.mark.compiler
@pytest.mark.usefixtures("compiled")
def test_cpp() -> None:
    verdict = photometer.ab("auto y = x + 1;", ADDS_TEN_TIMES, setup=ONES, language="cpp", budget=BUDGET)
    assert verdict.verdict == "slower"
