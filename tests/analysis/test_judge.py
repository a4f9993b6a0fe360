from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from photometer.analysis.judge import (
    Criteria,
    correct_for_suite,
    e_adjusted,
    judge_replicates,
    judge_unpaired,
    log_evidence_needed,
)
from photometer.analysis.verdict import Verdict
from photometer.errors import DefinitionError, MeasurementError
from photometer.stats.replicate import ReplicateEstimate
from tests.stats.replicate_noise import KINDS

BASE = 1.2e-6


def replicates(log_ratios: object, typical: float | None = None) -> list[ReplicateEstimate]:
    return [
        ReplicateEstimate(
            log_ratio=float(value),
            typical_log_ratio=float(value) if typical is None else typical,
            standard_error=0.001,
            seconds_per_run_a=BASE,
            seconds_per_run_b=BASE * math.exp(float(value)),
            blocks=200,
        )
        for value in np.asarray(log_ratios, dtype=float)
    ]


def noise(spread: float, count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, spread, count)


def first_decision(log_ratios: np.ndarray, criteria: Criteria) -> Verdict:
    """Look after every replicate from the third on, as a run does, and stop at the first verdict that is final."""
    found = replicates(log_ratios)
    for count in range(3, len(found) + 1):
        verdict = judge_replicates(found[:count], criteria, forecast=False)
        if verdict.is_final:
            return verdict
    return verdict


def test_slower_faster_and_their_figures() -> None:
    slower = judge_replicates(replicates(noise(0.001, 20) + math.log(1.01)))
    assert slower.verdict == "slower"
    assert slower.decided
    assert slower.ratio == pytest.approx(1.01, abs=0.001)
    assert slower.interval[0] < 1.01 < slower.interval[1]
    assert slower.difference_seconds == pytest.approx(12e-9, rel=0.1)
    low, high = slower.difference_interval_seconds
    assert 0.0 < low < slower.difference_seconds < high
    assert slower.p < 0.0025
    assert "slower by 1.0 %" in slower.reason
    assert judge_replicates(replicates(noise(0.001, 20) - math.log(1.01))).verdict == "faster"


def test_same_means_the_interval_lies_inside_the_margin() -> None:
    found = replicates(noise(0.001, 30))
    assert judge_replicates(found).verdict == "same"
    assert judge_replicates(found).is_final
    tight = judge_replicates(found, Criteria(margin=0.0003))
    assert (tight.verdict, tight.within, tight.is_final) == ("same", 0.003, False)


@pytest.mark.parametrize(
    ("scatter", "words"),
    [
        (0.001, "same within 0.3 %"),
        (0.014, "same within 0.5 %"),
        (0.028, "same within 1 %"),
        (0.055, "same within 2 %"),
        (0.1, "same within 3 %"),
        (0.15, "same within 5 %"),
        (0.3, "same within 10 %"),
        (0.6, "undecided"),
    ],
)
def test_an_interval_that_holds_zero_is_a_bound(scatter: float, words: str) -> None:
    # Symmetric about zero, so that the interval is.
    half = np.abs(noise(1.0, 20))
    verdict = judge_replicates(replicates(scatter * np.concatenate([half, -half])))
    assert verdict.words == words
    low, high = verdict.interval
    assert low < 1.0 < high
    if verdict.bound is None:
        assert "Stop other programs" in verdict.reason
    else:
        assert f"no difference above {100 * verdict.bound:g} %" in verdict.reason
        assert -verdict.bound < low - 1.0
        assert high - 1.0 < verdict.bound


def test_the_margin_is_one_of_the_bounds() -> None:
    half = np.abs(noise(0.025, 20))
    found = replicates(np.concatenate([half, -half]))
    assert judge_replicates(found, Criteria(margin=0.008)).words == "same within 0.8 %"
    assert judge_replicates(found, Criteria(margin=0.2)).words == "same within 1 %"


def test_an_interval_without_zero_is_probable_until_the_evidence_is_complete() -> None:
    found = replicates(noise(0.02, 12, seed=3) + 0.03)
    slower = judge_replicates(found)
    assert slower.verdict == "probably slower"
    assert slower.interval[0] > 1.0
    assert slower.p > 0.0025
    assert not slower.is_final
    assert "times the time would make it certain" in slower.reason
    mirrored = [replace(each, log_ratio=-each.log_ratio) for each in found]
    assert judge_replicates(mirrored).verdict == "probably faster"


def test_too_few_replicates_on_one_side_of_zero_are_not_probable() -> None:
    # As noise with two states looks in one of eight comparisons.
    four = replicates([0.0050, 0.0053, 0.0048, 0.0051])
    verdict = judge_replicates(four)
    assert verdict.interval[0] > 1.0
    assert verdict.words == "same within 1 %"
    assert judge_replicates(replicates([0.0050, 0.0053, 0.0048, 0.0051, 0.0049, 0.0052])).verdict != "same"


def test_what_was_not_called_is_not_said_to_be_detectable() -> None:
    verdict = judge_replicates(replicates(noise(0.02, 12, seed=3) + 0.03))
    assert verdict.detectable is not None
    contradicts = replace(verdict, detectable=replace(verdict.detectable, now=0.01))
    assert contradicts.detectable_now is None
    assert replace(contradicts, verdict="slower").detectable_now == 0.01


def test_a_certain_change_inside_the_margin_is_the_same_and_says_so() -> None:
    verdict = judge_replicates(replicates(noise(0.0005, 30) + 0.004), Criteria(margin=0.02))
    assert verdict.verdict == "same"
    assert any("change is certain" in note for note in verdict.notes)


def test_a_change_at_the_margin_is_not_called_either_way() -> None:
    verdict = judge_replicates(replicates(noise(0.0015, 20, seed=4) + 0.0048), Criteria(margin=0.005))
    assert verdict.words == "same within 1 %"
    assert not verdict.is_final
    assert any("it may be within the margin" in note for note in verdict.notes)


def test_without_a_margin_nothing_is_ever_surely_the_same() -> None:
    verdict = judge_replicates(replicates(noise(0.0001, 60)), Criteria(margin=0.0))
    assert verdict.words == "same within 0.3 %"
    assert not verdict.is_final


def test_one_replicate_decides_nothing() -> None:
    verdict = judge_replicates(replicates([0.08]))
    assert verdict.verdict == "undecided"
    assert verdict.detectable is not None
    assert verdict.detectable.now == math.inf


def test_detectable_change_shrinks_with_time_and_is_left_out_on_request() -> None:
    found = replicates(noise(0.2, 12))
    detectable = judge_replicates(found).detectable
    assert detectable is not None
    assert detectable.now > detectable.twice_the_time > detectable.four_times_the_time >= 0.003
    assert judge_replicates(found, forecast=False).detectable is None


def test_same_has_shown_that_there_is_no_change_beyond_the_margin() -> None:
    four = judge_replicates(replicates([0.0001, -0.0001, 0.0002, -0.0002]), Criteria(margin=0.02))
    assert four.verdict == "same"
    assert four.detectable is not None
    assert four.detectable.now == four.within == 0.003


def test_typical_blocks_that_disagree_with_the_floor_are_noted() -> None:
    verdict = judge_replicates(replicates(noise(0.001, 20), typical=0.05))
    assert any("only some of the runs" in note for note in verdict.notes)


@pytest.mark.parametrize(("centre", "typical"), [(0.82, 0.80), (0.0, 0.002)])
def test_no_note_if_they_say_nearly_the_same(centre: float, typical: float) -> None:
    verdict = judge_replicates(replicates(noise(0.001, 20) + centre, typical=typical))
    assert not verdict.notes


def test_a_suite_may_ask_for_more_evidence() -> None:
    found = replicates(noise(0.002, 16) + 0.006)
    alone = judge_replicates(found)
    assert alone.verdict == "slower"
    strict = judge_replicates(found, Criteria(log_evidence_needed=alone.log_evidence + 1.0))
    assert strict.verdict == "probably slower"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_identical_sides_are_not_called_different_however_often_one_looks(kind: str) -> None:
    data = KINDS[kind](np.random.default_rng(5), (15, 16))
    words = [first_decision(row, Criteria()).verdict for row in data]
    assert {"slower", "faster"}.isdisjoint(words)


def test_a_gross_change_is_called_within_six_replicates() -> None:
    # 0.9 s of measuring: a second is what is promised.
    data = KINDS["bad_forks"](np.random.default_rng(6), (40, 6)) + math.log(1.08)
    found = [first_decision(row, Criteria()) for row in data]
    assert all(verdict.verdict == "slower" for verdict in found)


def test_suite_correction_takes_back_the_weak_and_keeps_the_strong() -> None:
    # Just past what it needs alone, log(400), as a run that stops at once leaves it; of 202 the second needs log(2020).
    weak = replace(first_decision(noise(0.002, 40) + 0.006, Criteria()), log_evidence=6.5)
    strong = judge_replicates(replicates(noise(0.001, 30) + 0.02))
    still = judge_replicates(replicates(noise(0.001, 30)))
    assert (weak.verdict, strong.verdict, still.verdict) == ("slower", "slower", "same")
    assert correct_for_suite([weak]) == (weak,)
    corrected = correct_for_suite([weak, strong] + [still] * 200)
    assert [verdict.verdict for verdict in corrected[:3]] == ["probably slower", "slower", "same"]
    assert "202 benchmarks" in corrected[0].reason
    assert any(weak.reason in note for note in corrected[0].notes)


def test_unpaired_runs_see_only_gross_changes_and_say_what_that_costs() -> None:
    small = judge_unpaired([BASE] * 3, [BASE * 1.03] * 3)
    assert small.verdict == "undecided"
    assert not small.paired
    assert "not measured side by side" in small.reason
    gross = judge_unpaired([BASE] * 5, [BASE * 1.5] * 5)
    assert gross.verdict == "slower"
    assert judge_unpaired([BASE] * 5, [BASE / 1.5] * 5).verdict == "faster"
    assert small.detectable is not None
    assert small.detectable.now == small.detectable.four_times_the_time > 0.05


def test_unpaired_evidence_is_weaker_than_its_p_value() -> None:
    gross = judge_unpaired([BASE] * 5, [BASE * 1.5] * 5)
    assert 0.0 < gross.log_evidence < -math.log(gross.p)


def test_nonsense_is_refused() -> None:
    with pytest.raises(MeasurementError, match="No replicate"):
        judge_replicates([])
    with pytest.raises(DefinitionError, match="negative"):
        Criteria(margin=-0.01)
    with pytest.raises(DefinitionError, match="confidence"):
        Criteria(confidence=95.0)
    with pytest.raises(DefinitionError, match="false discovery rate"):
        correct_for_suite([], rate=5.0)


def test_replicates_that_scatter_widely_do_not_convict() -> None:
    """Several threads on a busy machine: identical sides whose replicates differ by 10 % from one to the next."""
    chance = np.random.default_rng(3)
    alarms = 0
    for _ in range(40):
        replicates = [
            ReplicateEstimate(change, change, 0.001, 1e-6, 1e-6 * math.exp(change), 100)
            for change in chance.normal(0.0, 0.1, 8)
        ]
        alarms += judge_replicates(replicates, forecast=False).verdict in ("slower", "faster")
    assert alarms <= 1


def test_e_values_are_adjusted_by_rank() -> None:
    logs = np.log([1000.0, 2.0, 50.0, 0.1])
    adjusted = e_adjusted(logs)
    np.testing.assert_allclose(adjusted, [4 / 1000, min(1.0, 4 / (3 * 2)), 4 / (2 * 50), 1.0])


def test_one_strong_value_alone_needs_all_of_the_correction() -> None:
    logs = [math.log(300.0)] + [0.0] * 19
    assert e_adjusted(logs)[0] > 0.05
    assert e_adjusted([math.log(300.0)] * 10 + [0.0] * 10)[0] <= 0.05


def test_evidence_needed_falls_as_changes_stand() -> None:
    none_yet = log_evidence_needed([0.0] * 100, rate=0.05, alone=0.0025)
    some = log_evidence_needed([10.0] * 3 + [0.0] * 97, rate=0.05, alone=0.0025)
    most = log_evidence_needed([10.0] * 90 + [0.0] * 10, rate=0.05, alone=0.0025)
    assert none_yet == pytest.approx(math.log(2000.0))
    assert some == pytest.approx(math.log(500.0))
    assert most == pytest.approx(math.log(400.0))
    assert log_evidence_needed([], rate=0.05, alone=0.01) == pytest.approx(math.log(100.0))


def test_whoever_reaches_what_was_needed_stands_corrected() -> None:
    logs = [9.0, 8.5] + [0.0] * 50
    needed = log_evidence_needed(logs, rate=0.05, alone=0.5)
    logs[7] = needed + 1e-9
    assert e_adjusted(logs)[7] <= 0.05


def test_rate_of_false_discoveries_holds_in_a_suite() -> None:
    generator = np.random.default_rng(2)
    shares = []
    for _ in range(200):
        # Likelihood ratios of a normal shift: e-values exactly. Thirty true nulls, ten changes.
        values = generator.normal(0.0, 1.0, 40)
        values[:10] += 4.0
        found = e_adjusted(3.0 * values - 4.5) <= 0.1
        shares.append(np.count_nonzero(found[10:]) / max(1, int(np.count_nonzero(found))))
    assert np.mean(shares) <= 0.1


def test_a_rate_of_more_than_one_is_refused() -> None:
    with pytest.raises(DefinitionError, match="between 0 and 1"):
        log_evidence_needed([0.0], rate=5.0, alone=0.01)
