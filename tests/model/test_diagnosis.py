"""Each rule of the judge: a series that must trip it, one that must not, and how rarely plain noise does."""

from __future__ import annotations

import dataclasses
import random

import pytest

from photometer.errors import ResultsFileError
from photometer.model.diagnosis import Conditions, Suspicion, SuspicionKind, diagnose
from photometer.model.records import from_record, to_record

# Every field, whichever there are: a number for all but the two that are others.
OTHERS = {"stopped_because": "text", "warmed_up": True}
FULL = Conditions(**{field.name: OTHERS.get(field.name, 3) for field in dataclasses.fields(Conditions)})  # type: ignore[arg-type]


def kinds(times: list[float], number_per_run: int = 1000, conditions: Conditions | None = None) -> set[SuspicionKind]:
    return {suspicion.kind for suspicion in diagnose(times, number_per_run, conditions)}


def noisy(count: int = 60, spread: float = 0.01, seed: int = 0) -> list[float]:
    source = random.Random(seed)
    return [1e-6 * source.gauss(1, spread) for _ in range(count)]


def test_quiet_samples_give_no_warning() -> None:
    good = Conditions(
        clock_resolution_seconds=1e-9, loop_overhead_seconds_per_run=2e-8, wall_seconds=1.0, cpu_seconds=0.99
    )
    assert kinds(noisy(), conditions=good) == set()


def test_plain_noise_rarely_trips_a_rule_about_shape() -> None:
    tripped = sum(bool(kinds(noisy(60, 0.02, seed))) for seed in range(300))
    assert tripped <= 6


@pytest.mark.parametrize("count", [1, 2, 4])
def test_too_few(count: int) -> None:
    assert kinds(noisy(count)) == {SuspicionKind.TOO_FEW_RUNS}


def test_five_are_enough() -> None:
    assert SuspicionKind.TOO_FEW_RUNS not in kinds(noisy(5))


def test_wide_spread_says_how_wide() -> None:
    times = [1.0, 1.0, 1.1, 1.2, 1.3]
    [suspicion] = diagnose(times, 1, None)
    assert suspicion.kind is SuspicionKind.WIDE_SPREAD
    assert "18.2 %" in suspicion.message


def test_warming_up_and_drift_are_told_apart_by_direction() -> None:
    falling = [t * (1.2 - 0.2 * i / 59) for i, t in enumerate(noisy())]
    assert SuspicionKind.WARMING_UP in kinds(falling)
    assert SuspicionKind.DRIFT in kinds(falling[::-1])
    assert SuspicionKind.WARMING_UP not in kinds(falling[::-1])


def test_two_modes() -> None:
    # Shuffled: in blocks one after the other it would be a drift as well.
    times = noisy(40) + [t * 1.4 for t in noisy(20, seed=1)]
    random.Random(2).shuffle(times)
    found = [s for s in diagnose(times, 1000, None) if s.kind is SuspicionKind.SEVERAL_MODES]
    assert len(found) == 1
    assert "33 %" in found[0].message


def test_one_outlier_is_no_mode() -> None:
    assert SuspicionKind.SEVERAL_MODES not in kinds([*noisy(40), 5e-6])


def test_coarse_clock_looks_at_the_block_not_the_run() -> None:
    coarse = Conditions(clock_resolution_seconds=1e-6)
    assert SuspicionKind.COARSE_CLOCK in kinds(noisy(), number_per_run=10, conditions=coarse)
    assert SuspicionKind.COARSE_CLOCK not in kinds(noisy(), number_per_run=2000, conditions=coarse)


def test_busy_core_needs_preemptions() -> None:
    assert SuspicionKind.BUSY_CORE in kinds(
        noisy(), conditions=Conditions(wall_seconds=1, cpu_seconds=0.8, preemptions=9)
    )
    # Off the core without being preempted: the statement itself waits (sleep, input, a device).
    assert kinds(noisy(), conditions=Conditions(wall_seconds=1, cpu_seconds=0.1, preemptions=0)) == set()


def test_may_do_nothing() -> None:
    assert SuspicionKind.MAY_DO_NOTHING in kinds(noisy(), conditions=Conditions(loop_overhead_seconds_per_run=1e-6))
    assert SuspicionKind.MAY_DO_NOTHING not in kinds(noisy(), conditions=Conditions(loop_overhead_seconds_per_run=5e-7))


def test_times_of_zero_are_judged_not_a_crash() -> None:
    assert kinds([0.0] * 30, 1, Conditions(clock_resolution_seconds=1e-3)) == {SuspicionKind.COARSE_CLOCK}


def test_conditions_round_trip() -> None:
    assert from_record(Conditions, to_record(FULL)) == FULL
    assert from_record(Conditions, to_record(Conditions())) == Conditions()


def test_unknown_is_left_out_and_newer_fields_are_ignored() -> None:
    assert to_record(Conditions(warmup_runs=3)) == {"warmup_runs": 3}
    assert from_record(Conditions, {"weather": "fine"}) == Conditions()


@pytest.mark.parametrize(
    ("name", "value"), [("wall_seconds", "1"), ("stopped_because", 3), ("preemptions", []), ("warmed_up", 3)]
)
def test_wrong_types_are_named(name: str, value: object) -> None:
    with pytest.raises(ResultsFileError, match=rf"conditions\.{name}"):
        from_record(Conditions, {name: value})


@pytest.mark.parametrize("kind", list(SuspicionKind))
def test_every_kind_has_a_remedy_and_survives_json(kind: SuspicionKind) -> None:
    suspicion = Suspicion(kind, "it looks odd.")
    assert suspicion.remedy.endswith(".")
    assert str(suspicion) == f"it looks odd. {suspicion.remedy}"
    assert from_record(Suspicion, to_record(suspicion)) == suspicion
