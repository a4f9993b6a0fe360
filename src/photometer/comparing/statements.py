"""ab: compare two or more statements live, side by side, on the host or on an accelerator.

    photometer.ab("x + y", "torch.add(x, y)", setup="x = y = torch.ones(8)")        text: in forks of fresh servers
    photometer.ab(f, g, args=(x,))                                                  callables: in forks of this process
    photometer.ab({"old": f, "new": g, "other": h}, args=(x,), device="cuda")       device time

Two statements give a Verdict, a dict or more statements a Ranking. It stops as soon as everything is decided, or the
budget is spent. docs/ab.md has the table of ways, and when to use which.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from photometer.analysis.judge import Criteria, default_margin
from photometer.analysis.ranking import Ranking
from photometer.analysis.verdict import Verdict
from photometer.ci.project_store import place_to_write, store_of
from photometer.comparing.ab_findings import AbFindings
from photometer.comparing.callables import open_source
from photometer.comparing.contenders import Contender, Stmt, gather_contenders
from photometer.comparing.device_statements import ANY, DeviceSettings, rank_on_device
from photometer.comparing.fork_sampler import Contestants, ForkSampler
from photometer.comparing.many import OnLook, Stopping, rank_side_by_side
from photometer.errors import BuildError, DefinitionError, PhotometerError, SnippetError
from photometer.instruments.cpp.snippet import BuiltSnippet, CppSnippet
from photometer.instruments.device.options import SourceChoice
from photometer.instruments.replicate import REPLICATE_SECONDS, Side
from photometer.model.environment import Environment
from photometer.model.language import Language
from photometer.session.session import Session
from photometer.statement_arguments import whole_number
from photometer.worker.messages import Prepare

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Seconds per statement after the first.
DEFAULT_BUDGET_SECONDS = 10.0
# An accelerator's clock is steadier than a host's: most verdicts are final after a second.
DEFAULT_DEVICE_BUDGET_SECONDS = 5.0
# A bias that all replicates of one process may share, because the addresses of their objects do not change.
# benchmarks/ab_ways.py shows how much the estimates of several processes differ.
ONE_PROCESS_BIAS = 0.002
# Text that reaches an accelerator: the clock must wait for its queue.
_ACCELERATOR_TEXT = re.compile(r"\b(cuda|xpu|accelerator)\b")


class AbOptions(TypedDict, total=False):
    """The options of `ab`, for type checkers; its docstring says what they are."""

    setup: str
    setup_b: str | None
    global_setup: str
    language: Language | str
    num_threads: int
    args: Sequence[Any]
    kwargs: Mapping[str, Any] | None
    globals: Mapping[str, Any] | None
    budget: float | None
    limit: float | None
    margin: float | None
    device: str | None
    cold: bool
    source: SourceChoice
    environment: Environment | None
    callback: Callable[[Any], Any] | None
    seed: int | None
    store: str | None


@dataclasses.dataclass(frozen=True)
class AbRequest:
    """A complete and checked request for a comparison. The command builds one, too."""

    contenders: tuple[Contender, ...]
    stopping: Stopping
    language: Language = Language.PYTHON
    global_setup: str = ""
    num_threads: int = 1
    device: DeviceSettings | None = None
    environment: Environment | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        needs_objects = any(contender.names for contender in self.contenders)
        if self.language is Language.PYTHON and self.global_setup:
            raise DefinitionError("global_setup is for C++ only", remedy="Move it into `setup`.")
        if self.language is Language.CPP and needs_objects:
            raise DefinitionError("callables and globals are Python", remedy="Give the C++ statements as text.")
        if self.language is Language.CPP and self.device is not None:
            raise DefinitionError(
                "device time is measured only for Python statements", remedy="Wrap the C++ in an operator."
            )
        if self.environment is not None and (needs_objects or self.device is not None):
            raise DefinitionError(
                "callables, globals and device time are measured in this process, not in another environment",
                remedy="Give the statements as text, or leave `environment` out.",
            )


@overload
def ab(stmt_a: Stmt, stmt_b: Stmt, /, **options: Unpack[AbOptions]) -> Verdict: ...


@overload
def ab(stmt_a: Stmt, stmt_b: Stmt, stmt_c: Stmt, /, *more: Stmt, **options: Unpack[AbOptions]) -> Ranking: ...


@overload
def ab(statements: Mapping[str, Stmt], /, **options: Unpack[AbOptions]) -> Ranking: ...


def ab(
    *statements: Any,
    setup: str = "pass",
    setup_b: str | None = None,
    global_setup: str = "",
    language: Language | str = Language.PYTHON,
    num_threads: int = 1,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    globals: Mapping[str, Any] | None = None,
    budget: float | None = None,
    limit: float | None = None,
    margin: float | None = None,
    device: str | None = None,
    cold: bool = False,
    source: SourceChoice = "auto",
    environment: Environment | None = None,
    callback: Callable[[Any], Any] | None = None,
    seed: int | None = None,
    store: str | None = None,
) -> Verdict | Ranking:
    """Return whether the second statement is slower or faster than the first, or the same within the margin.

    Give two statements for a Verdict; more, or a dict of them by name, for a Ranking of all.

    Args:
        statements: code as text, or anything that can be called: functions, lambdas, bound methods, modules.
        setup: code that runs before, untimed; statements can use its variables. `setup_b` is that of the second one.
        global_setup: C++ only: code for the top of the file.
        language: "python" or "cpp".
        num_threads: size of torch's thread pool.
        args: positional arguments of the callables.
        kwargs: keyword arguments of the callables.
        globals: objects that text can use, by name.
        budget: most seconds of measuring; by default 10 per statement after the first, 5 on a device.
        limit: most seconds of wall-clock time, including the start; at least one replicate is taken.
        margin: relative change that does not matter; 0.003 (0.3 %) by default, 0.02 with several threads.
        device: "cuda", "cuda:1", …: compare times of the accelerator, not of the host. "any" uses the one there is.
        cold: with `device`: flush its cache before each run.
        source: with `device`: "events", "profiler", or "auto".
        environment: the interpreter to run text in; by default this one.
        callback: called after each replicate with the Verdict, or Ranking, so far.
        seed: seed of the order of blocks and of the memory layouts.
        store: the history store to write to, a path or a URL; "none" for none. By default PHOTOMETER_STORE, or the
            project's, if it has one.

    """
    if cold and device is None:
        raise DefinitionError("cold is for device time", remedy='Give device="cuda" too.')
    contenders = gather_contenders(statements, setup=setup, setup_b=setup_b, args=args, kwargs=kwargs, globals=globals)
    request = AbRequest(
        contenders,
        Stopping(
            default_budget(len(contenders), device) if budget is None else budget,
            limit,
            criteria_for(margin, num_threads),
        ),
        Language.parse(language),
        global_setup,
        whole_number("num_threads", num_threads),
        None if device is None else DeviceSettings(device, cold, source, seed),
        environment,
        seed,
    )
    only_two = len(statements) == 2
    # Fail before anything is measured if the store cannot be used.
    place = _place_of(store)
    ranking = compare(request, on_look=_calling(callback, only_two))
    if place is not None:
        AbFindings(request, ranking).store(place)
    return ranking.pairs[0].verdict if only_two else ranking


@overload
def ab_device(stmt_a: Stmt, stmt_b: Stmt, /, **options: Unpack[AbOptions]) -> Verdict: ...


@overload
def ab_device(stmt_a: Stmt, stmt_b: Stmt, stmt_c: Stmt, /, *more: Stmt, **options: Unpack[AbOptions]) -> Ranking: ...


@overload
def ab_device(statements: Mapping[str, Stmt], /, **options: Unpack[AbOptions]) -> Ranking: ...


def ab_device(*statements: Any, **options: Any) -> Verdict | Ranking:
    """Return `ab(…, device=…)`: compare by device time, on any accelerator if none is named."""
    found: Verdict | Ranking = ab(*statements, **{**options, "device": options.get("device") or ANY})
    return found


def compare(request: AbRequest, *, on_look: OnLook | None = None) -> Ranking:
    """Run a comparison. Raise the error of a statement, with its name."""
    try:
        if request.device is not None:
            return rank_on_device(
                request.contenders,
                request.device,
                request.stopping,
                num_threads=request.num_threads,
                on_look=on_look,
            )
        if any(contender.names for contender in request.contenders):
            return _in_this_process(request, on_look)
        return _in_servers(request, on_look)
    except SnippetError as error:
        raise _with_advice(error, request) from None


def default_budget(statements: int, device: str | None = None) -> float:
    each = DEFAULT_BUDGET_SECONDS if device is None else DEFAULT_DEVICE_BUDGET_SECONDS
    return each * max(statements - 1, 1)


def criteria_for(margin: float | None, num_threads: int) -> Criteria:
    return Criteria(margin=default_margin(num_threads) if margin is None else margin)


def _place_of(store: str | None) -> str | None:
    """Return the store to write to. Problems with a project's store must not prevent a comparison."""
    if store is not None:
        return place_to_write(store, _warn)
    try:
        return place_to_write(store_of(None), _warn)
    except PhotometerError as error:
        _warn(f"results are not stored: {error}")
        return None


def _warn(words: str) -> None:
    warnings.warn(f"photometer: {words}", stacklevel=5)


def _calling(callback: Callable[[Any], Any] | None, only_two: bool) -> OnLook | None:
    if callback is None:
        return None
    return lambda ranking, _: callback(ranking.pairs[0].verdict if only_two else ranking)


def _in_servers(request: AbRequest, on_look: OnLook | None) -> Ranking:
    prepare = preparations(request)
    with Session(request.environment) as session:
        sides = tuple(Side(session, each) for each in prepare)
        sampler = ForkSampler([Contestants(sides)], seconds=_replicate_seconds(request), seed=request.seed)
        return rank_side_by_side(
            [contender.name for contender in request.contenders],
            sampler,
            request.stopping,
            on_look=on_look,
        )


def _in_this_process(request: AbRequest, on_look: OnLook | None) -> Ranking:
    opened = open_source(
        request.contenders,
        num_threads=request.num_threads,
        seconds=_replicate_seconds(request),
        seed=request.seed,
    )
    stopping = request.stopping
    if not opened.is_forked:
        bias = max(stopping.criteria.shared_bias, ONE_PROCESS_BIAS)
        stopping = dataclasses.replace(stopping, criteria=dataclasses.replace(stopping.criteria, shared_bias=bias))
    return rank_side_by_side(
        [contender.name for contender in request.contenders],
        opened.source,
        stopping,
        on_look=on_look,
        measured_by=opened.measured_by,
    )


def _replicate_seconds(request: AbRequest) -> float:
    """Return the seconds per replicate that give each statement as many blocks as if there were two."""
    return min(REPLICATE_SECONDS * len(request.contenders) / 2, request.stopping.budget)


def preparations(request: AbRequest) -> list[Prepare]:
    """Return what each side's child prepares; C++ is compiled first, all statements together."""
    threads = request.num_threads
    if request.language is Language.PYTHON:
        waits = any(_ACCELERATOR_TEXT.search(f"{each.setup}\n{each.stmt}") for each in request.contenders)
        return [Prepare(each.stmt, each.setup, num_threads=threads, synchronize=waits) for each in request.contenders]
    return [
        Prepare(library=str(built.library), symbol=built.symbol, num_threads=threads)
        for built in built_snippets(request)
    ]


def built_snippets(request: AbRequest) -> list[BuiltSnippet]:
    """Compile all statements together. Raise the error of the first that does not compile."""
    from photometer.instruments.cpp.build import build_snippets

    snippets = [
        CppSnippet(each.stmt, "" if each.setup == "pass" else each.setup, request.global_setup)
        for each in request.contenders
    ]
    built = []
    for outcome in build_snippets(snippets):
        if isinstance(outcome, BuildError):
            raise outcome
        built.append(outcome)
    return built


def _with_advice(error: SnippetError, request: AbRequest) -> SnippetError:
    """Return the error with a remedy if the set-up seems to be missing."""
    has_no_setup = all(contender.setup == "pass" for contender in request.contenders)
    if error.exception_type == "NameError" and error.remedy is None and has_no_setup:
        error.remedy = "Define what the statements use in the set-up (setup=…, -s), or pass it in globals={…}."
    return error
