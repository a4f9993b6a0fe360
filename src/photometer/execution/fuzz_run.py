"""A fuzz run: one or two statements timed on each input of a fuzzer.

In: a fuzzer and the statements. Out: trials, each as soon as it is measured. An input that fails, crashes or never ends
is a trial too, with the line that rebuilds it, and the run goes on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from photometer.errors import DefinitionError, SnippetError, WorkerCrashed, WorkerTimeout
from photometer.fuzzing.fuzzer import FuzzedInput, Fuzzer
from photometer.instruments.clock import accelerator_in_use, choose_clock, timer
from photometer.instruments.replicate import alternate
from photometer.model.fuzz_trial import FuzzTrial, Plain, TensorFacts, TrialFailure
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.forks_here import can_fork, fork_here
from photometer.stats.replicate import estimate_replicate
from photometer.stats.summary import median
from photometer.worker.messages import Prepare, Time
from photometer.worker.python_loop import PythonLoop
from photometer.worker.threads import set_torch_threads
from photometer.worker.user_error import describe_exception

MAKING_THE_INPUT = "making the input"
_TRAITS = ("is_coalesced", "density", "sparse_dim", "is_hybrid")


@dataclass(frozen=True)
class FuzzRequest:
    """Which statements to time on which inputs. They see the tensors, the parameters and torch by name."""

    fuzzer: Fuzzer
    count: int
    stmt: str
    against: str | None = None
    setup: str = "pass"
    num_threads: int = 1
    seconds_per_input: float = 0.1
    # The line that rebuilds input i; the fuzzer's own unless it was made in a way that it cannot know.
    rebuild_line: Callable[[int], str] | None = None
    # Each statement once in a fork of this process before it is timed here, so that a crash costs one input. None:
    # wherever that is safe.
    rehearsed: bool | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        if self.count < 1:
            raise DefinitionError(f"A fuzz run needs at least one input, not {self.count}.", remedy="Give at least 1.")
        if not self.seconds_per_input > 0:
            raise DefinitionError("The time for an input must be positive.", remedy="Give seconds, such as 0.1.")

    @property
    def statements(self) -> tuple[str, ...]:
        return (self.stmt,) if self.against is None else (self.stmt, self.against)

    @property
    def rehearses(self) -> bool:
        """Whether inputs are tried in a fork first: not if tensors are on an accelerator, which no fork inherits."""
        if self.rehearsed is not None:
            return self.rehearsed
        on_cpu = all(tensor.device == "cpu" for tensor in self.fuzzer.tensors)
        return can_fork() and on_cpu and not accelerator_in_use()

    def line_for(self, index: int) -> str:
        return (self.rebuild_line or self.fuzzer.rebuild_line)(index)


def run_trials(request: FuzzRequest) -> Iterator[FuzzTrial]:
    """Yield one trial per input, in the fuzzer's order. A statement that is not Python is an error at once."""
    for statement in (*request.statements, request.setup):
        _check_syntax(statement)
    rehearses = request.rehearses
    with set_torch_threads(request.num_threads):
        for index, prepared in enumerate(request.fuzzer.prepare(request.count)):
            try:
                made = prepared.make()
            except Exception as error:
                trial = _failed_to_make(request, index, prepared.params, error)
            else:
                trial = _trial(request, index, made, rehearses)
                del made  # or two inputs would lie in memory while the next is made
            yield trial


def _described(request: FuzzRequest, index: int, made: FuzzedInput) -> FuzzTrial:
    tensors, properties, params = made
    facts = tuple(_facts(name, tensor, properties[name]) for name, tensor in tensors.items())
    return FuzzTrial(index, _plain(params), facts, request.line_for(index))


def _trial(request: FuzzRequest, index: int, made: FuzzedInput, rehearses: bool) -> FuzzTrial:
    described = _described(request, index, made)
    names = {**made[2], **made[0]}
    order = random.Random(f"{request.fuzzer.seed} {index}")
    try:
        if rehearses:
            _rehearse(request, names)
        times = _timed(request, names, order)
    except SnippetError as error:
        failure = TrialFailure(error.message, error.exception_type, str(error.__cause__), error.log or "")
        return dataclasses.replace(described, failure=failure)
    except (WorkerCrashed, WorkerTimeout) as error:
        where = " or ".join(request.statements)
        return dataclasses.replace(
            described, failure=TrialFailure(where, type(error).__name__, error.message, str(error))
        )
    if len(times) == 1:
        return dataclasses.replace(described, seconds_per_run=(median(times[0]),))
    # The second statement is the one compared to, so it is the estimate's side A.
    estimate = estimate_replicate(times[1], times[0])
    return dataclasses.replace(
        described,
        seconds_per_run=(estimate.seconds_per_run_b, estimate.seconds_per_run_a),
        log_ratio=estimate.log_ratio,
        standard_error=estimate.standard_error,
    )


def _loop(request: FuzzRequest, statement: str, names: Mapping[str, Any], clock: Callable[[], float]) -> PythonLoop:
    import torch

    # Each its own names: what one statement assigns, the other does not see.
    return PythonLoop(statement, request.setup, clock, {"torch": torch, **names})


def _rehearse(request: FuzzRequest, names: Mapping[str, Any]) -> None:
    """Run each statement once in a fork of this process.

    If one raises there, it will raise again when it is timed here.
    """
    for statement in request.statements:
        with fork_here(names) as child, contextlib.suppress(SnippetError):
            # One thread: a pool of threads that this process may have does not survive the fork.
            child.ask(Prepare(statement, request.setup), request.timeout_seconds)
            child.ask(Time(1), request.timeout_seconds)


def _timed(request: FuzzRequest, names: Mapping[str, Any], order: random.Random) -> list[list[float]]:
    for statement in request.statements:
        with _blaming(statement):
            _loop(request, statement, names, timer).timeit(1)
    # After the first run it is known whether work may be queued on an accelerator.
    clock = choose_clock(timer)
    with contextlib.ExitStack() as stack:
        blocks = []
        for statement in request.statements:
            with _blaming(statement):
                blocks.append(
                    _blamed(statement, stack.enter_context(_loop(request, statement, names, clock).open_blocks()))
                )
        taken = alternate(blocks, seconds=request.seconds_per_input, order=order, clock=clock)
        return [list(side) for side in taken.seconds_per_run]


def _blamed(statement: str, time_block: Callable[[int], float]) -> Callable[[int], float]:
    def timed(number: int) -> float:
        with _blaming(statement):
            return time_block(number)

    return timed


@contextlib.contextmanager
def _blaming(statement: str) -> Iterator[None]:
    """Turn what the user's code raises into a SnippetError that names the statement."""
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
    """Return a parameter as a plain value for a file or a map; a parameter may be anything."""
    return {
        # str: of a dtype or a device it is the name that people type.
        name: value if isinstance(value, (bool, int, float, str)) else str(value)
        for name, value in params.items()
    }


def _check_syntax(statement: str) -> None:
    try:
        compile(statement, "<statement>", "exec")
    except SyntaxError as error:
        raise DefinitionError(f"This is not Python: {statement!r}: {error}", remedy="Correct the statement.") from error
