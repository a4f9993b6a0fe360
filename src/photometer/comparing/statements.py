"""ab: compare two or more statements live, side by side, on the host or on an accelerator.

    photometer.ab("x + y", "torch.add(x, y)", setup="x = y = torch.ones(8)")        text: in forks of fresh servers
    photometer.ab(f, g, args=(x,))                                                  callables: in forks of this process
    photometer.ab({"old": f, "new": g, "other": h}, args=(x,), device="cuda")       device time

Two statements give a Verdict, a dict or more statements a Ranking. It stops as soon as everything is decided, or the
budget is spent. docs/ab.md has the table of ways, and when to use which.
"""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from photometer.analysis.ranking import Ranking
from photometer.analysis.verdict import Verdict
from photometer.ci.project_store import place_to_write, store_of
from photometer.comparing.ab_findings import AbFindings, AbRequest, StatementCount, criteria_for, default_budget
from photometer.comparing.comparison import Comparison
from photometer.comparing.comparison_file import Destination
from photometer.comparing.contenders import Contender, Stmt, clearing_gradients, gather_contenders
from photometer.comparing.device_statements import DeviceSettings
from photometer.comparing.rank import OnLook, Stopping
from photometer.comparing.source import Contest, Observer
from photometer.comparing.statement_source import StatementSource
from photometer.errors import DefinitionError, PhotometerError, SnippetError
from photometer.instruments.device.options import SourceChoice
from photometer.model.machine import Environment
from photometer.model.task import Language, TaskSpec
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, checked_seed
from photometer.statement_arguments import whole_number

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AbOptions(TypedDict, total=False):
    """The options of `ab`, for type checkers; the docstring of `ab` describes them."""

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
    timeout: float
    margin: float | None
    device: str | None
    cold: bool
    source: SourceChoice
    environment: Environment | None
    callback: Callable[[Any], Any] | None
    seed: int | None
    ranks: int
    grad_to_none: bool
    store: str | None


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
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    margin: float | None = None,
    device: str | None = None,
    cold: bool = False,
    source: SourceChoice = "auto",
    environment: Environment | None = None,
    callback: Callable[[Any], Any] | None = None,
    seed: int | None = None,
    ranks: int = 0,
    grad_to_none: bool = True,
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
        budget: maximum seconds of measuring; by default 10 per statement after the first, 5 on a device.
        limit: maximum seconds of wall-clock time, including the start; at least one replicate is taken.
        timeout: seconds after which a statement that does not return is stopped, if it has a process of its own.
        margin: relative change that does not matter; 0.003 (0.3 %) by default, 0.02 with several threads.
        device: "cuda", "cuda:1", …: compare times of the accelerator, not of the host. "any" uses the one there is.
        cold: with `device`: flush its cache before each run.
        source: with `device`: "events", "profiler", or "auto".
        environment: the interpreter to run text in; by default this one.
        callback: called after each replicate with the Verdict, or Ranking, so far.
        seed: seed of the order of blocks, of the memory layouts, and of random data: all processes then start from it.
            By default all sides of a replicate have the same data, and each replicate others.
        ranks: run each statement in a group of so many processes, joined by torch.distributed; its time is that of
            the slowest. Code sees `rank` and `world_size`.
        grad_to_none: whether text with a backward pass clears the gradients of the set-up's tensors and modules before
            each run, as a training step does; otherwise they add up. Callables clear their own.
        store: the history store to write to, a path or a URL; "none" for none. By default PHOTOMETER_STORE, or the
            project's, if it has one.

    """
    if cold and device is None:
        raise DefinitionError("cold is for device time", remedy='Give device="cuda" too.')
    seed = checked_seed(seed)
    contenders = gather_contenders(statements, setup=setup, setup_b=setup_b, args=args, kwargs=kwargs, globals=globals)
    language = Language.parse(language)
    if grad_to_none and language is Language.PYTHON:
        contenders = clearing_gradients(contenders)
    request = AbRequest(
        contenders,
        Stopping(
            default_budget(len(contenders), device) if budget is None else budget,
            limit,
            criteria_for(margin, num_threads * max(ranks, 1)),
        ),
        language,
        global_setup,
        whole_number("num_threads", num_threads),
        None if device is None else DeviceSettings(device, cold, source, seed),
        environment,
        seed,
        whole_number("ranks", ranks) if ranks else 0,
        timeout,
    )
    only_two = len(statements) == 2
    # Fail before anything is measured if the store cannot be used.
    place = _place_of(store)
    ranking = compare(request, on_look=_calling(callback, only_two))
    if place is not None:
        AbFindings(request, ranking).keep(Destination(store=place))
    return ranking.pairs[0].verdict if only_two else ranking


@contextlib.contextmanager
def open_ab(
    request: AbRequest, observer: Observer | None = None, *, instructions: bool = False, memory: bool = False
) -> Iterator[AbStages]:
    """Yield the stages of a comparison of statements. Its session exists while the block runs."""
    source = StatementSource(request, instructions=instructions, memory=memory)
    with Comparison(source, source.settings, observer=observer) as comparison:
        yield AbStages(request, source, comparison)


def compare(request: AbRequest, *, on_look: OnLook | None = None) -> Ranking:
    """Run a comparison. Raise the error of a statement, with its name."""
    with open_ab(request) as stages:
        return stages.rank(on_look).ranking


class AbStages:
    """The measurements of `ab`, one stage after the other; each returns all findings so far."""

    def __init__(self, request: AbRequest, source: StatementSource, comparison: Comparison) -> None:
        self._request, self._source, self._comparison = request, source, comparison
        self._checked = comparison.check()

    def rank(self, on_look: OnLook | None = None) -> AbFindings:
        """Take replicates until every pair of statements is decided, or the time is spent."""
        try:
            return AbFindings(self._request, self._source.rank(self._comparison.sides, self._checked, on_look))
        except SnippetError as error:
            raise _with_advice(error, self._request) from None

    def count(self, found: AbFindings) -> AbFindings:
        """Count the instructions of each statement, in forks of one server under Valgrind."""
        counted = self._comparison.count(self._checked)
        order = self._checked.orders[0]
        counts = []
        for place, contender in enumerate(self._request.contenders):
            side = counted.counts[order.id, place]
            spec = dataclasses.replace(
                side.counts.task_spec, label=None, sub_label=_own_name(contender), description=None, stmt=contender.stmt
            )
            is_identical = place > 0 and counted.is_identical(order, Contest(0, place))
            counts.append(
                StatementCount(dataclasses.replace(side.counts, task_spec=spec), side.functions, is_identical)
            )
        return dataclasses.replace(found, counted=tuple(counts))

    def measure_memory(self, found: AbFindings) -> AbFindings:
        """Measure the memory of one run of each statement; on its accelerator, too, if it uses one."""
        order = self._checked.orders[0]
        uses = self._comparison.measure_memory(self._checked)
        for error in uses.errors:
            raise error
        memories = []
        for place, contender in enumerate(self._request.contenders):
            use = uses.uses[order.id, place]
            spec = TaskSpec(
                contender.stmt,
                contender.setup,
                self._request.global_setup,
                description=_own_name(contender),
                num_threads=self._request.num_threads,
            )
            memories.append(dataclasses.replace(use, task_spec=spec))
        return dataclasses.replace(found, memories=tuple(memories))


def _own_name(contender: Contender) -> str | None:
    return contender.name if contender.name != contender.stmt else None


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


def _with_advice(error: SnippetError, request: AbRequest) -> SnippetError:
    """Return the error with a remedy if the set-up seems to be missing."""
    has_no_setup = all(contender.setup == "pass" for contender in request.contenders)
    if error.exception_type == "NameError" and error.remedy is None and has_no_setup:
        error.remedy = "Define what the statements use in the set-up (setup=…, -s), or pass it in globals={…}."
    return error
