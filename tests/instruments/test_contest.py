"""Two orders measured in the same moments, until their ratio is known."""

from __future__ import annotations

import pytest

from photometer.comparing.fork_sampler import ForkSampler
from photometer.definition import TimerArgs
from photometer.errors import SnippetError
from photometer.instruments.contest import Contestants, PairedTimes, time_against
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder
from photometer.instruments.replicate import Replicate, Side
from photometer.plan import materialize
from photometer.stats.replicate import FEWEST_REPLICATES
from photometer.worker.messages import Prepare
from tests.session.fake_session import Behaviour, FakeServers

PLAN = materialize({name: TimerArgs(name) for name in ("base", "other")})
BASE, OTHER = map(ReadyOrder, PLAN)


def pair(behaviours: dict[str, Behaviour], *, precision: float, most_replicates: int) -> PairedTimes:
    with FakeServers({"fake": behaviours}).session() as session:
        return time_against(
            session,
            Asked(OTHER, cores=(0,), against=(BASE,)),
            precision=precision,
            most_replicates=most_replicates,
            seconds=0.01,
        )


def test_the_ratio_and_what_is_added() -> None:
    times = pair({"base": Behaviour(2e-6), "other": Behaviour(5e-6)}, precision=0.2, most_replicates=20)
    assert times.ratio == pytest.approx(2.5, rel=0.05)
    assert times.interval[0] <= times.ratio <= times.interval[1]
    assert (times.base_seconds, times.seconds) == pytest.approx((2e-6, 5e-6), rel=0.05)
    assert times.added_seconds == pytest.approx(3e-6, rel=0.05)
    low, high = times.added_interval_seconds
    assert low <= times.added_seconds <= high
    # These statements scatter little: it stops as soon as it may.
    assert times.replicates == FEWEST_REPLICATES


def test_it_stops_when_it_has_had_its_replicates() -> None:
    assert pair({}, precision=0.0, most_replicates=6).replicates == 6
    assert pair({}, precision=1.0, most_replicates=2).replicates == 2


@pytest.mark.parametrize(("preparing_seconds", "then_asked"), [(0.1, 0.15), (3.0, 1.0), (60.0, 2.0)])
def test_a_replicate_that_takes_long_to_prepare_is_measured_for_longer(
    preparing_seconds: float, then_asked: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def take_replicate(sides: object, *, seconds: float, **_: object) -> Replicate:
        asked.append(seconds)
        return Replicate(((1e-6,), (1e-6,)), (500, 500), seconds, preparing_seconds + seconds)

    monkeypatch.setattr("photometer.instruments.contest.take_replicate", take_replicate)
    with FakeServers({"fake": {}}).session() as session:
        sampler = ForkSampler([Contestants((Side(session, Prepare("pass")),) * 2)], core=0)
        for turn in range(2):
            sampler.take(0, turn)
        sampler.take(0, 2, seconds=0.03)
    assert asked == pytest.approx([0.15, then_asked, 0.03])


def test_what_fails_raises_its_own_error() -> None:
    with pytest.raises(SnippetError, match="boom"):
        pair({"other": Behaviour(raises="boom")}, precision=0.1, most_replicates=4)
