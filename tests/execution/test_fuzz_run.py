"""A fuzz run: every input measured or its failure told, and the map finds what was planted."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from photometer.analysis.fuzz_map import make_map
from photometer.errors import DefinitionError
from photometer.execution.fuzz_run import MAKING_THE_INPUT, FuzzRequest, run_trials
from photometer.fuzzing import FuzzedParameter, FuzzedSparseTensor, FuzzedTensor, Fuzzer
from photometer.fuzzing.fuzzer import explaining_parameters, shown_parameters
from photometer.model.fuzz_trial import FuzzTrial
from photometer.op_fuzzers import make_preset
from photometer.session.forks_here import can_fork


def small(seed: int = 0, **tensor: Any) -> Fuzzer:
    return Fuzzer(
        [FuzzedParameter("m", 32, 128, "loguniform"), FuzzedParameter("n", 32, 128, "loguniform")],
        [FuzzedTensor("x", ("m", "n"), **tensor)],
        seed=seed,
    )


def is_tall(trial: FuzzTrial) -> bool:
    return int(trial.params["m"]) >= 64


@pytest.mark.lengthy
def test_slower_only_for_inputs_that_are_not_contiguous() -> None:
    """The planted fault costs thirty times the work, so a busy machine does not hide it."""
    request = FuzzRequest(
        small(5),
        40,
        "x.sin() if x.is_contiguous() else [x.sin() for _ in range(30)]",
        "x.sin()",
        seconds_per_input=0.01,
    )
    found = make_map(request.statements, list(run_trials(request)), explaining_parameters(request.fuzzer))
    assert "where x is not contiguous" in found.findings[0]
    assert found.findings[0].startswith("Slower")
    assert all(not trial.is_contiguous for trial in found.trials[:10])


@pytest.mark.lengthy
def test_a_failing_input_is_told_and_the_rest_go_on() -> None:
    statement = "assert m < 64, 'too tall'; x + 1"
    request = FuzzRequest(small(1), 12, statement, "x + 1", seconds_per_input=0.001)
    trials = list(run_trials(request))
    assert [trial.index for trial in trials] == list(range(12))
    failed = [trial for trial in trials if trial.failure is not None]
    assert failed
    assert len(failed) < 12
    for trial in trials:
        assert is_tall(trial) == (trial.failure is not None)
        namespace: dict[str, Any] = {}
        exec(trial.rebuild_line, namespace)
        assert tuple(namespace["tensors"]["x"].shape) == trial.tensors[0].shape
    failure = failed[0].failure
    assert failure is not None
    assert (failure.where, failure.exception_type, failure.message) == (statement, "AssertionError", "too tall")
    assert "too tall" in failure.traceback
    assert "photometer/execution" not in failure.traceback


def test_a_statement_that_fails_late_is_told_too() -> None:
    request = FuzzRequest(
        small(), 2, "calls.append(1); assert len(calls) < 9, 'late'", setup="calls = []", seconds_per_input=0.01
    )
    assert all(trial.failure is not None and trial.failure.message == "late" for trial in run_trials(request))


def test_an_input_that_cannot_be_made_is_told_and_the_next_is_the_same_as_ever() -> None:
    def sometimes(size: tuple[int, ...], dtype: torch.dtype, **params: Any) -> torch.Tensor:
        if params["m"] >= 64:
            raise MemoryError("no room")
        return torch.rand(size, dtype=dtype)

    fuzzer = small(1, tensor_constructor=sometimes)
    trials = list(run_trials(FuzzRequest(fuzzer, 12, "x + 1", seconds_per_input=0.001)))
    assert len(trials) == 12
    failed = [trial for trial in trials if trial.failure is not None]
    assert 0 < len(failed) < 12
    assert {trial.failure.where for trial in failed if trial.failure} == {MAKING_THE_INPUT}
    assert all(is_tall(trial) for trial in failed)
    assert [trial.params for trial in trials] == list(fuzzer.take_params(12))
    whole = [trial.index for trial in trials if trial.failure is None]
    sums = [prepared.make()[0]["x"].sum() for i, prepared in enumerate(fuzzer.prepare(12)) if i in whole]
    assert sums == [fuzzer.at(index)[0]["x"].sum() for index in whole]


@pytest.mark.skipif(not can_fork(), reason="no fork here")
def test_an_input_that_crashes_or_never_ends_costs_only_itself() -> None:
    statement = "os._exit(9) if m >= 64 else time.sleep(600) if n >= 90 else x + 1"
    # Some milliseconds are enough for the others.
    request = FuzzRequest(
        small(1), 10, statement, setup="import os, time", seconds_per_input=0.001, timeout_seconds=8.0
    )
    trials = list(run_trials(request))
    assert len(trials) == 10
    for trial in trials:
        kind = "WorkerCrashed" if is_tall(trial) else "WorkerTimeout" if int(trial.params["n"]) >= 90 else None
        assert (trial.failure and trial.failure.exception_type) == kind
    assert {trial.failure.exception_type for trial in trials if trial.failure} == {"WorkerCrashed", "WorkerTimeout"}


@pytest.mark.skipif(not can_fork(), reason="no fork here")
def test_rehearsal_where_it_is_safe() -> None:
    assert FuzzRequest(small(), 1, "x", num_threads=2).rehearses
    assert not FuzzRequest(small(device="meta"), 1, "x").rehearses
    assert not FuzzRequest(small(), 1, "x", rehearsed=False).rehearses


@pytest.mark.lengthy
def test_threads_are_those_asked_for_though_a_pool_was_started_before_the_fork() -> None:
    request = FuzzRequest(
        small(),
        4,
        "assert torch.get_num_threads() == threads; (x @ x.t()).exp()",
        # In the rehearsal there is one thread: the pool of the process that times does not survive the fork.
        setup="torch.ones(2**20).exp(); threads = torch.get_num_threads()",
        num_threads=2,
        seconds_per_input=0.001,
        timeout_seconds=300.0,
    )
    before = torch.get_num_threads()
    assert [trial.failure for trial in run_trials(request)] == [None] * 4
    assert torch.get_num_threads() == before


def test_names_of_one_statement_do_not_reach_the_other() -> None:
    request = FuzzRequest(small(), 1, "left = x", "left", seconds_per_input=0.001)
    (trial,) = run_trials(request)
    assert trial.failure is not None
    assert trial.failure.exception_type == "NameError"
    assert trial.failure.where == "left"


def test_one_statement_has_one_time() -> None:
    trials = list(run_trials(FuzzRequest(small(), 3, "x + n", seconds_per_input=0.001)))
    assert all(len(trial.seconds_per_run) == 1 and trial.log_ratio is None for trial in trials)


def test_sparse_inputs_are_described() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("density", distribution={0.2: 1.0})],
        [FuzzedSparseTensor("x", (30, 30), coalesced=True)],
        seed=0,
    )
    (trial,) = run_trials(FuzzRequest(fuzzer, 1, "x.neg()", seconds_per_input=0.001))
    assert trial.tensors[0].traits["density"] == 0.2
    assert trial.tensors[0].is_contiguous is None


@pytest.mark.parametrize("arguments", [{"count": 0}, {"seconds_per_input": 0.0}, {"seconds_per_input": float("nan")}])
def test_requests_that_measure_nothing_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        FuzzRequest(**{"fuzzer": small(), "count": 1, "stmt": "x", **arguments})


def test_a_statement_that_is_no_python_is_refused_at_once() -> None:
    with pytest.raises(DefinitionError, match="not Python"):
        next(run_trials(FuzzRequest(small(), 1, "x +")))


def test_parameters_that_explain() -> None:
    assert explaining_parameters(make_preset("unary", 0)) == frozenset()
    assert explaining_parameters(make_preset("binary", 0)) == frozenset()
    assert explaining_parameters(make_preset("sparse-binary", 0)) == frozenset()
    assert explaining_parameters(make_preset("reduction", 0)) == {"axis", "keepdim"}
    assert {"m", "n", "k"} <= explaining_parameters(make_preset("matmul", 0))
    assert "channels_any_0" not in explaining_parameters(make_preset("convolution", 0))
    assert {"kernel", "stride", "groups"} <= explaining_parameters(make_preset("convolution", 0))


def test_parameters_that_shapes_do_not_show() -> None:
    assert shown_parameters(make_preset("reduction", 0)) == ("axis", "keepdim")
    assert shown_parameters(make_preset("convolution", 0)) == ("groups", "stride", "padding", "dilation")
    assert shown_parameters(make_preset("matmul", 0)) == ()


@pytest.mark.gpu
def test_inputs_on_an_accelerator() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no accelerator")
    request = FuzzRequest(make_preset("matmul", 0, device="cuda", max_flops=2**30), 6, "x @ y", seconds_per_input=0.02)
    trials = list(run_trials(request))
    assert all(trial.failure is None for trial in trials)
    assert all(tensor.is_cuda for tensor in request.fuzzer.at(3)[0].values())
