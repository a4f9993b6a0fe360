from __future__ import annotations

import math
from dataclasses import replace

from photometer.analysis.suite_judge import FIRST_REPLICATES, Progress, order_by_need, seconds_to_decision
from photometer.analysis.verdict import Verdict
from tests.analysis.test_verdict import VERDICT

OPEN = replace(VERDICT, verdict="undecided", log_evidence=1.0, replicates=10)
NEEDED = math.log(400.0)


def progress(verdict: Verdict | None, seconds: float = 0.25) -> Progress:
    return Progress(verdict, seconds_per_replicate=seconds, log_evidence_needed=NEEDED)


def test_decided_benchmarks_get_nothing() -> None:
    assert order_by_need([progress(VERDICT), progress(replace(VERDICT, verdict="same"))]) == ()
    assert order_by_need([]) == ()


def test_first_replicates_come_first_and_in_turn() -> None:
    begun = replace(OPEN, replicates=FIRST_REPLICATES - 1)
    assert order_by_need([progress(OPEN), progress(begun), progress(None), progress(VERDICT)]) == (2, 1, 0)


def test_the_nearest_to_a_decision_is_next() -> None:
    near_change = progress(replace(OPEN, log_evidence=5.0))
    far_change = progress(replace(OPEN, log_evidence=0.2))
    near_same = progress(replace(OPEN, ratio=1.0, interval=(0.9965, 1.0035), log_evidence=-2.0))
    assert order_by_need([far_change, near_change, near_same])[-1] == 0
    assert seconds_to_decision(near_change) < seconds_to_decision(far_change)
    assert seconds_to_decision(near_same) < seconds_to_decision(far_change)


def test_expensive_replicates_count() -> None:
    cheap, dear = progress(OPEN, 0.25), progress(OPEN, 2.5)
    assert order_by_need([dear, cheap]) == (1, 0)


def test_hopeless_ones_wait_but_do_not_starve() -> None:
    hopeless = replace(OPEN, log_evidence=-3.0, ratio=1.0, interval=(0.8, 1.25))
    assert order_by_need([progress(hopeless), progress(replace(OPEN, log_evidence=3.0))], seconds_left=20.0) == (1, 0)
    crowd = [progress(replace(OPEN, replicates=40)) for _ in range(3)]
    assert order_by_need([*crowd, progress(hopeless)])[0] == 3


def test_a_replicate_that_does_not_fit_is_not_started() -> None:
    assert order_by_need([progress(OPEN, 3.0), progress(OPEN, 0.2)], seconds_left=1.0) == (1,)


def test_an_even_chance_at_both_margins_is_still_ordered() -> None:
    edge = replace(OPEN, ratio=1.003, margin=0.003, log_evidence=-1.0, interval=(0.0, math.inf))
    assert seconds_to_decision(progress(edge)) == math.inf
    assert order_by_need([progress(edge), progress(None)]) == (1, 0)
