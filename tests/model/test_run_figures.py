"""Times of ranks: which one is the slowest, how far they are apart, and what a collective moves on the bus."""

from __future__ import annotations

import pytest

from photometer.errors import MeasurementError
from photometer.model.run_figures import MetricValues, PhaseSeconds, RankTimes
from photometer.model.task import TaskSpec

SPEC = TaskSpec("all_reduce(x)")


def test_the_slowest_of_each_block_is_the_time() -> None:
    times = RankTimes(SPEC, ((1.0, 4.0, 1.0), (2.0, 2.0, 1.5)))
    assert times.slowest_of_each_block == (2.0, 4.0, 1.5)
    assert (times.slowest, times.ranks, times.latest_rank) == (2.0, 2, 1)
    assert times.by_rank == (1.0, 2.0)
    assert times.spread == 1.0


@pytest.mark.parametrize(
    ("collective", "ranks", "share"),
    [("all_reduce", 2, 1.0), ("all_reduce", 4, 1.5), ("all_gather", 4, 0.75), ("broadcast", 4, 1.0)],
)
def test_the_bus_carries_a_share_of_the_message(collective: str, ranks: int, share: float) -> None:
    times = RankTimes(SPEC, ((2.0,),) * ranks, collective=collective, bytes=100.0)
    assert times.bytes_per_second == 50.0
    assert times.bus_bytes_per_second == 50.0 * share


def test_without_a_message_or_a_second_rank_there_is_no_bus() -> None:
    assert RankTimes(SPEC, ((1.0,), (1.0,))).bus_bytes_per_second is None
    assert RankTimes(SPEC, ((1.0,),), collective="all_reduce", bytes=8.0).bus_bytes_per_second is None


@pytest.mark.parametrize("seconds", [(), ((),), ((1.0,), (1.0, 2.0))])
def test_ranks_have_the_same_blocks(seconds: tuple[tuple[float, ...], ...]) -> None:
    with pytest.raises(MeasurementError, match="same number of blocks"):
        RankTimes(SPEC, seconds)


def test_a_phase_and_a_metric_have_a_run() -> None:
    """Their medians are shown without a look at how many there are."""
    with pytest.raises(MeasurementError, match="at least one run"):
        PhaseSeconds("forward", ())
    with pytest.raises(MeasurementError, match="at least one run"):
        MetricValues("loss", ())
