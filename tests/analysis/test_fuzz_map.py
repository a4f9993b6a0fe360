"""The map says what was planted, in words, and says nothing where there is nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from photometer.analysis.fuzz_map import FuzzMap, features_of, figure_of, make_map
from photometer.errors import MeasurementError
from photometer.model.fuzz_trial import FuzzTrial, TensorFacts, TrialFailure
from photometer.model.records import from_record, to_record

STATEMENTS = ("f(x)", "g(x)")
RatioOf = Callable[[tuple[int, ...], bool, dict[str, Any]], float]


def trial(
    index: int,
    log_ratio: float,
    shape: tuple[int, ...] = (10,),
    contiguous: bool = True,
    params: dict[str, Any] | None = None,
    dtype: str = "float32",
    noise: float = 0.003,
) -> FuzzTrial:
    return FuzzTrial(
        index,
        params or {},
        (TensorFacts("x", tuple(shape), dtype, contiguous),),
        f"rebuild({index})",
        (math.exp(log_ratio) * 1e-6, 1e-6),
        log_ratio,
        noise,
    )


def planted(ratio_of: RatioOf, count: int = 60, seed: int = 0, noise: float = 0.01) -> list[FuzzTrial]:
    """Random inputs whose ratio `ratio_of(shape, contiguous, params)` says, and a little noise."""
    chance = random.Random(seed)
    trials = []
    for index in range(count):
        shape = tuple(2 ** chance.randint(2, 10) for _ in range(chance.randint(1, 3)))
        contiguous = chance.random() < 0.6
        params = {"axis": chance.choice([-1, 0]), "mode": chance.choice(["a", "b", "c"])}
        log_ratio = math.log(ratio_of(shape, contiguous, params)) + chance.gauss(0, noise)
        trials.append(trial(index, log_ratio, shape, contiguous, params))
    return trials


def mapped(ratio_of: RatioOf, **arguments: Any) -> FuzzMap:
    return make_map(STATEMENTS, planted(ratio_of, **arguments))


def test_slower_only_where_not_contiguous_is_said_so() -> None:
    found = mapped(lambda shape, contiguous, params: 1.0 if contiguous else 1.8)
    assert len(found.findings) == 1
    assert found.findings[0].startswith("Slower where x is not contiguous: 1.8")
    assert "where x is contiguous: 1.0" in found.findings[0]


def test_faster_above_a_size_is_said_so() -> None:
    found = mapped(lambda shape, contiguous, params: 0.5 if math.prod(shape) >= 4096 else 1.0)
    assert found.findings[0].startswith("Faster where x has")
    assert "elements or more: 0.50 times" in found.findings[0]
    assert "4,000" in found.findings[0] or "4,096" in found.findings[0]


def test_dimensions_choices_and_parameters_are_found() -> None:
    assert "x has 3 dimensions or more" in mapped(lambda shape, c, p: 2.0 if len(shape) == 3 else 1.0).findings[0]
    assert "mode is b" in mapped(lambda shape, c, params: 2.0 if params["mode"] == "b" else 1.0).findings[0]
    assert "axis is less than 0" in mapped(lambda shape, c, params: 2.0 if params["axis"] == -1 else 1.0).findings[0]


def test_two_causes_make_a_small_tree() -> None:
    def both(shape: tuple[int, ...], contiguous: bool, params: dict[str, Any]) -> float:
        if contiguous:
            return 1.0
        return 4.0 if params["axis"] == 0 else 1.5

    found = mapped(both, count=120)
    assert "x is not contiguous" in found.findings[0]
    assert any(line.startswith("Among those where x is not contiguous") and "axis" in line for line in found.findings)


def test_growth_with_a_number_is_a_rank_correlation() -> None:
    found = mapped(lambda shape, contiguous, params: 1 + 0.1 * math.log2(math.prod(shape)), count=80)
    assert any("number of elements of x" in line or "x has" in line for line in found.findings)


def test_parameters_that_are_not_to_explain_do_not() -> None:
    trials = planted(lambda shape, c, params: 2.0 if params["mode"] == "b" else 1.0)
    assert not any("mode" in line for line in make_map(STATEMENTS, trials, explaining=()).findings)


def test_noise_alone_is_not_explained() -> None:
    """One map in a hundred may err; of thirty, three would be a fault."""
    wrong = sum(
        not mapped(lambda shape, contiguous, params: 1.0, seed=seed, noise=0.2).findings[0].startswith("Nothing")
        for seed in range(30)
    )
    assert wrong <= 2


def test_counts_and_order() -> None:
    trials = [trial(0, 0.0), trial(1, 0.5), trial(2, -0.4), trial(3, 0.2, noise=0.1), trial(4, 0.02)]
    found = make_map(STATEMENTS, trials)
    assert (found.slower, found.faster) == (1, 1)
    assert [each.index for each in found.trials] == [1, 3, 4, 0, 2]
    assert found.headline.startswith("Slower on 1, faster on 1, the same on 3 of 5 inputs")
    assert found.findings == ()


def test_failed_inputs_stand_apart() -> None:
    failed = FuzzTrial(7, {}, (), "rebuild(7)", failure=TrialFailure("f(x)", "ValueError", "no", ""))
    found = make_map(STATEMENTS, [trial(0, 0.0), failed])
    assert [each.index for each in found.failed] == [7]
    assert len(found.trials) == 1
    assert make_map(STATEMENTS, [failed]).headline == "No input could be timed."


def test_one_statement_is_judged_by_its_time_an_element() -> None:
    trials = [
        FuzzTrial(i, {}, (TensorFacts("x", (1000,), "float32", i % 2 == 0),), "", ((1 if i % 2 == 0 else 4) * 1e-6,))
        for i in range(20)
    ]
    found = make_map(("f(x)",), trials)
    assert not found.is_comparison
    assert found.findings[0].startswith("Slowest where x is not contiguous: 4 ns per element")
    assert "ns per element over 20 inputs" in found.headline


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.floats(-3, 3), st.lists(st.integers(0, 50), max_size=3), st.booleans(), st.sampled_from("ab")),
        max_size=25,
    )
)
def test_any_trials_make_a_map(rows: list[tuple[float, tuple[int, ...], bool, str]]) -> None:
    trials = [
        trial(index, log_ratio, shape, contiguous, {"mode": mode})
        for index, (log_ratio, shape, contiguous, mode) in enumerate(rows)
    ]
    found = make_map(STATEMENTS, trials)
    ratios = [each.log_ratio for each in found.trials if each.log_ratio is not None]
    assert ratios == sorted(ratios, reverse=True)
    assert len(ratios) == len(found.trials) == len(rows)
    assert found.slower + found.faster <= len(rows)
    assert all(line.endswith(".") for line in found.findings)


def test_features_that_do_not_differ_are_left_out() -> None:
    assert features_of([]) == []
    features = features_of([trial(0, 0, (4, 4)), trial(1, 0, (4, 4), contiguous=False)])
    assert [feature.when_true for feature in features] == ["x is contiguous"]


def test_a_trial_survives_the_file() -> None:
    original = trial(3, 0.25, (4, 5), False, {"axis": 1, "mode": "a", "flag": True})
    assert from_record(FuzzTrial, to_record(original)) == original
    failed = FuzzTrial(7, {"a": 0.5}, (), "again", failure=TrialFailure("f(x)", "ValueError", "no", "lines"))
    assert from_record(FuzzTrial, to_record(failed)) == failed
    with pytest.raises(Exception, match="no params"):
        from_record(FuzzTrial, {"kind": "fuzz_trial", "index": 1})


def test_an_input_is_described_by_its_tensors_and_what_they_do_not_show() -> None:
    found = make_map(STATEMENTS, [trial(0, 0.0, (4, 5), params={"axis": 1, "n": 4})], shown_params=["axis"])
    assert found.describe(found.trials[0]) == "x 4×5, axis=1"


def test_an_input_without_times_and_without_a_failure_is_refused() -> None:
    lost = FuzzTrial(3, {}, (TensorFacts("x", (1000,), "float32"),), "rebuild(3)")
    with pytest.raises(MeasurementError, match="input 3"):
        figure_of(lost)
