"""A fuzz run: one or two statements timed on each input of a fuzzer.

In come a fuzzer and the statements; out come trials, each the moment it is measured. An input that fails is a
trial too, with the line that rebuilds it, and the run goes on. All happens in this process: the inputs are made
once for both statements.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from photometer.errors import DefinitionError, SnippetError
from photometer.execution.alternating_blocks import alternate
from photometer.fuzzing.fuzzer import Fuzzer
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.parameter_alias import ParameterAlias
from photometer.fuzzing.prepared_input import FuzzedInput
from photometer.instruments.clock import choose_clock, timer
from photometer.model.fuzz_trial import FuzzTrial, Plain, TensorFacts, TrialFailure
from photometer.stats.replicate import estimate_replicate
from photometer.stats.summary import median
from photometer.worker.python_loop import PythonLoop
from photometer.worker.threads import set_torch_threads
from photometer.worker.user_error import describe_exception

MAKING_THE_INPUT = "making the input"
# A parameter with more values than this is a seed for the statement, not something that explains its speed.
WIDEST_EXPLAINING_RANGE = 2**20
_TRAITS = ("is_coalesced", "density", "sparse_dim", "is_hybrid")


@dataclass(frozen=True)
class FuzzRequest:
    """What to time on which inputs. The statements see the tensors, the parameters and torch by name."""

    fuzzer: Fuzzer
    count: int
    stmt: str
    against: str | None = None
    setup: str = "pass"
    num_threads: int = 1
    seconds_per_input: float = 0.1
    # The line that rebuilds input i; the fuzzer's own unless it was made in a way that it cannot know.
    rebuild_line: Callable[[int], str] | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise DefinitionError(f"A fuzz run of {self.count} inputs measures nothing.", remedy="Give at least 1.")
        if not self.seconds_per_input > 0:
            raise DefinitionError("The time for an input must be positive.", remedy="Give seconds, such as 0.1.")

    @property
    def statements(self) -> tuple[str, ...]:
        return (self.stmt,) if self.against is None else (self.stmt, self.against)

    def line_for(self, index: int) -> str:
        return (self.rebuild_line or self.fuzzer.rebuild_line)(index)


def run_trials(request: FuzzRequest) -> Iterator[FuzzTrial]:
    """One trial an input, in the fuzzer's order. A statement that is no Python is an error at once."""
    for statement in (*request.statements, request.setup):
        _check_syntax(statement)
    order = random.Random(request.fuzzer.seed)
    with set_torch_threads(request.num_threads):
        for index, prepared in enumerate(request.fuzzer.prepare(request.count)):
            try:
                made = prepared.make()
            except Exception as error:
                trial = _failed_to_make(request, index, prepared.params, error)
            else:
                trial = _trial(request, index, made, order)
                del made  # or two inputs would lie in memory while the next is made
            yield trial


def explaining_parameters(fuzzer: Fuzzer) -> frozenset[str]:
    """The parameters that may explain a difference: not those that only serve to draw others, nor mere entropy."""
    serving = set(fuzzer.idle_parameters)
    for parameter in fuzzer.parameters:
        serving |= {choice.alias_to for choice in parameter.possible_choices if isinstance(choice, ParameterAlias)}
    for tensor in fuzzer.tensors:
        serving |= {*tensor.step_names, *tensor.other_names}
        if tensor.dim_parameter is not None:  # a size that may be cut off says little; the shape itself says it
            serving |= set(tensor.size_names)
    return frozenset(each.name for each in fuzzer.parameters if each.name not in serving and not _is_entropy(each))


def shown_parameters(fuzzer: Fuzzer) -> tuple[str, ...]:
    """The parameters that explain and cannot be read off the tensors' shapes, in the fuzzer's order."""
    sizes = {name for tensor in fuzzer.tensors for name in tensor.size_names}
    explaining = explaining_parameters(fuzzer) - sizes
    return tuple(parameter.name for parameter in fuzzer.parameters if parameter.name in explaining)


def _is_entropy(parameter: FuzzedParameter) -> bool:
    low, high = parameter.minval, parameter.maxval
    if not parameter.is_whole_number_range or low is None or high is None:
        return False
    return high - low > WIDEST_EXPLAINING_RANGE


def _trial(request: FuzzRequest, index: int, made: FuzzedInput, order: random.Random) -> FuzzTrial:
    tensors, properties, params = made
    facts = tuple(_facts(name, tensor, properties[name]) for name, tensor in tensors.items())
    described = FuzzTrial(index, _plain(params), facts, request.line_for(index))
    try:
        times = _timed(request, {**params, **tensors}, order)
    except SnippetError as error:
        failure = TrialFailure(error.message, error.exception_type, str(error.__cause__), error.log or "")
        return FuzzTrial(described.index, described.params, facts, described.rebuild_line, failure=failure)
    if len(times) == 1:
        return FuzzTrial(index, described.params, facts, described.rebuild_line, (median(times[0]),))
    # The second statement is the one compared to, so it is the estimate's side A.
    estimate = estimate_replicate(times[1], times[0])
    return FuzzTrial(
        index,
        described.params,
        facts,
        described.rebuild_line,
        (estimate.seconds_per_run_b, estimate.seconds_per_run_a),
        estimate.log_ratio,
        estimate.standard_error,
    )


def _timed(request: FuzzRequest, names: Mapping[str, Any], order: random.Random) -> list[list[float]]:
    import torch

    def loop(statement: str, clock: Callable[[], float]) -> PythonLoop:
        # Each its own names: what one statement assigns, the other does not see.
        return PythonLoop(statement, request.setup, clock, {"torch": torch, **names})

    for statement in request.statements:
        with _blaming(statement):
            loop(statement, timer).timeit(1)
    # After the first run it is known whether work may be queued on an accelerator.
    clock = choose_clock(timer)
    with contextlib.ExitStack() as stack:
        blocks = []
        for statement in request.statements:
            with _blaming(statement):
                blocks.append(_blamed(statement, stack.enter_context(loop(statement, clock).open_blocks())))
        return alternate(blocks, budget_seconds=request.seconds_per_input, clock=clock, order=order)


def _blamed(statement: str, time_block: Callable[[int], float]) -> Callable[[int], float]:
    def timed(number: int) -> float:
        with _blaming(statement):
            return time_block(number)

    return timed


@contextlib.contextmanager
def _blaming(statement: str) -> Iterator[None]:
    """What the user's code raises becomes a SnippetError that names the statement."""
    try:
        yield
    except Exception as error:
        described = describe_exception(error)
        raise SnippetError(statement, exception_type=described["type"], log=described["traceback"]) from error


def _failed_to_make(request: FuzzRequest, index: int, params: Mapping[str, Any], error: Exception) -> FuzzTrial:
    described = describe_exception(error)
    failure = TrialFailure(MAKING_THE_INPUT, described["type"], described["message"], described["traceback"])
    return FuzzTrial(index, _plain(params), (), request.line_for(index), failure=failure)


def _facts(name: str, tensor: Any, properties: Mapping[str, Any]) -> TensorFacts:
    traits: dict[str, Plain] = {trait: properties[trait] for trait in _TRAITS if trait in properties}
    contiguous = properties.get("is_contiguous")
    return TensorFacts(name, tuple(tensor.shape), str(properties["dtype"]).removeprefix("torch."), contiguous, traits)


def _plain(params: Mapping[str, Any]) -> dict[str, Plain]:
    """Parameters may be anything; a file and a map want plain values."""
    return {
        # str: of a dtype or a device it is the name that people type.
        name: value if isinstance(value, (bool, int, float, str)) else str(value)
        for name, value in params.items()
    }


def _check_syntax(statement: str) -> None:
    try:
        compile(statement, "<statement>", "exec")
    except SyntaxError as error:
        raise DefinitionError(f"This is no Python: {statement!r}: {error}", remedy="Correct the statement.") from error
