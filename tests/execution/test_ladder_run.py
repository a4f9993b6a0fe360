from __future__ import annotations

import math

from photometer.definition.timer_args import TimerArgs
from photometer.errors import SnippetError
from photometer.execution.ladder_run import climb, stand_on
from photometer.plan import materialize


def test_a_higher_rung_is_dearer_and_one_that_fails_does_not_end_the_climb() -> None:
    work = "sum(range({}))"
    plan = materialize(
        {
            "low": TimerArgs(work.format(100)),
            "high": TimerArgs(work.format(400)),
            "broken": TimerArgs("1 / 0"),
            "again": TimerArgs(work.format(100)),
        }
    )
    low, high, broken, again = plan.orders
    told: list[str] = []
    outcomes = climb(
        [stand_on(high, low), stand_on(broken, low), stand_on(again, low)],
        replicates=2,
        replicate_seconds=0.02,
        on_rung=lambda title, _: told.append(title),
    )
    assert told == [high.title, broken.title, again.title]
    assert isinstance(outcomes[broken.id], SnippetError)
    dear, same = outcomes[high.id], outcomes[again.id]
    assert isinstance(dear, tuple)
    assert isinstance(same, tuple)
    assert len(dear) == len(same) == 2
    # Four times the work: the lower rung is the first side.
    assert all(estimate.log_ratio > math.log(1.5) for estimate in dear)
    assert all(abs(estimate.log_ratio) < math.log(1.5) for estimate in same)
