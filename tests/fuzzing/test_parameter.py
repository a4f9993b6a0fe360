"""FuzzedParameter: what it draws, and what it refuses to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.benchmark as torch_benchmark
from hypothesis import given, strategies as st

from photometer.errors import DefinitionError
from photometer.fuzzing import FuzzedParameter, ParameterAlias
from photometer.fuzzing.word_stream import WordStream


@given(
    seed=st.integers(0, 2**32 - 1),
    bounds=st.tuples(st.integers(1, 2**30), st.integers(1, 2**30)).map(sorted),
    distribution=st.sampled_from(["loguniform", "uniform"]),
)
def test_whole_numbers_agree_with_torch_and_stay_in_bounds(
    seed: int, bounds: tuple[int, int], distribution: str
) -> None:
    low, high = bounds
    theirs = torch_benchmark.FuzzedParameter("p", low, high, distribution)
    ours = FuzzedParameter("p", low, high, distribution)
    numpys, stream = np.random.RandomState(seed), WordStream(np.random.RandomState(seed))
    for _ in range(5):
        value = ours.sample(stream)
        assert value == theirs.sample(numpys)
        assert isinstance(value, int)
        assert low <= value <= high


@given(seed=st.integers(0, 2**32 - 1), low=st.floats(-1e9, 1e9), width=st.floats(0, 1e9))
def test_floats_agree_with_torch(seed: int, low: float, width: float) -> None:
    theirs = torch_benchmark.FuzzedParameter("p", low, low + width, "uniform")
    ours = FuzzedParameter("p", low, low + width, "uniform")
    assert ours.sample(np.random.RandomState(seed)) == theirs.sample(np.random.RandomState(seed))


def test_a_numpy_state_serves_as_well_as_a_word_stream() -> None:
    parameter = FuzzedParameter("p", 1, 1000, "uniform")
    assert parameter.sample(np.random.RandomState(5)) == parameter.sample(WordStream(np.random.RandomState(5)))


def test_dict_probabilities_are_kept() -> None:
    parameter = FuzzedParameter("p", distribution={"a": 0.7, "b": 0.3, "never": 0.0})
    stream = WordStream(np.random.RandomState(0))
    drawn = [parameter.sample(stream) for _ in range(4000)]
    assert "never" not in drawn
    assert drawn.count("a") / len(drawn) == pytest.approx(0.7, abs=0.03)
    assert parameter.possible_choices == ("a", "b")


def test_values_keep_their_own_type() -> None:
    stream = WordStream(np.random.RandomState(0))
    values = {type(FuzzedParameter("p", distribution={True: 0.5, 2: 0.5}).sample(stream)) for _ in range(50)}
    assert values == {bool, int}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distribution": {1: 0.5, 2: 0.6}}, "sum to 1.1"),
        ({"distribution": {1: -0.5, 2: 1.5}}, "negative"),
        ({"distribution": {1: float("nan"), 2: 1.0}}, "finite"),
        ({"distribution": {}}, "sum to 0"),
        ({"distribution": {1: 1.0}, "minval": 1}, "no minval"),
        ({"distribution": {1: 1.0}, "maxval": 1}, "no minval"),
        ({"distribution": "normal", "minval": 0, "maxval": 1}, "normal"),
        ({"distribution": None, "minval": 0, "maxval": 1}, "unknown distribution"),
        ({"distribution": "uniform", "minval": 1}, "lacks a bound"),
        ({"distribution": "uniform", "minval": 2, "maxval": 1}, "greater than maxval"),
        ({"distribution": "loguniform", "minval": 0, "maxval": 1}, "logarithm"),
        ({"distribution": "uniform", "minval": 0.0, "maxval": float("inf")}, "finite"),
        ({"distribution": "uniform", "minval": 0, "maxval": 2**64}, "64-bit"),
    ],
)
def test_a_bad_parameter_is_refused_when_it_is_written(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        FuzzedParameter("p", **arguments)
    assert "'p'" in str(caught.value)
    assert caught.value.remedy


def test_sums_that_torch_wrongly_rejects_are_taken() -> None:
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
        # 2.4 takes them still.
        with pytest.raises(AssertionError):
            torch_benchmark.FuzzedParameter("p", distribution={1: 0.3, 2: 0.7})
    assert FuzzedParameter("p", distribution={1: 0.3, 2: 0.7}).possible_choices == (1, 2)
    assert FuzzedParameter("p", distribution={1: 0.333333, 2: 0.333333, 3: 0.333333}).possible_choices == (1, 2, 3)


def test_the_printed_form_can_be_pasted() -> None:
    for parameter in (
        FuzzedParameter("k", 1, 64, "loguniform", strict=True),
        FuzzedParameter("k", distribution={1: 0.5, "x": 0.5}),
        FuzzedParameter("k", 0.5, 1, "uniform"),
    ):
        again = eval(repr(parameter))
        assert [again.sample(np.random.RandomState(s)) for s in range(20)] == [
            parameter.sample(np.random.RandomState(s)) for s in range(20)
        ]
        assert again.strict == parameter.strict
    assert repr(ParameterAlias("k0")) == "ParameterAlias('k0')"
