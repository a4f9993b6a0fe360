"""StatementSource: the sides of a comparison are statements: text in forks of a server, or callables in forks here.

In: an AbRequest. Out: started sides with their one benchmark, and the Ranking of all statements. Text of one
environment shares one session, so its instructions and its memory are measured where it was timed.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE
from photometer.analysis.ranking import Ranking
from photometer.comparing.ab_findings import AbRequest
from photometer.comparing.callables import CallableSource, open_source
from photometer.comparing.contenders import Contender
from photometer.comparing.device_statements import ANY, rank_built_on_device, rank_on_device
from photometer.comparing.fork_sampler import ForkSampler
from photometer.comparing.rank import OnLook, rank_side_by_side
from photometer.comparing.request import ComparisonSettings
from photometer.comparing.source import CheckedPlan, Observer, StartedSide
from photometer.definition.suite import content_hash
from photometer.definition.timer_args import TimerArgs
from photometer.errors import BuildError, DefinitionError, DeviceMissing
from photometer.instruments.callgrind.counter import start_counter_ahead
from photometer.instruments.cpp.snippet import BuiltSnippet, CppSnippet
from photometer.instruments.ready_order import ReadyOrder
from photometer.instruments.replicate import REPLICATE_SECONDS
from photometer.model.task import Language
from photometer.plan.auto_labels import AutogradMode, AutoLabels, RuntimeMode
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.session import Session
from photometer.session.valgrind import find_valgrind
from photometer.statement_arguments import check_python
from photometer.worker.accelerators import names_accelerator
from photometer.worker.messages import Prepare, TorchFacts

SUITE = "ab"
# A bias that all replicates of one process may share, because the addresses of their objects do not change.
# benchmarks/ab_ways.py shows how much the estimates of several processes differ.
ONE_PROCESS_BIAS = 0.002


class StatementSource:
    """Statements as sides. `instructions` and `memory` request more than the time: both need text."""

    def __init__(self, request: AbRequest, *, instructions: bool = False, memory: bool = False) -> None:
        self._request = request
        self.settings = ComparisonSettings(
            request.stopping.budget,
            request.stopping.criteria.margin,
            DEFAULT_FALSE_DISCOVERY_RATE,
            instructions,
            time="all",
            limit_seconds=request.stopping.limit,
            memory=memory,
            seed=request.seed,
        )
        self._check_syntax()
        if request.ranks and instructions:
            raise DefinitionError(
                "instructions are not counted with ranks: how often ranks poll each other is random",
                remedy="Leave one of the two out.",
            )
        if request.needs_this_process and instructions:
            raise DefinitionError(
                "instructions can be counted only for text: a process under Valgrind does not have the objects of "
                "this one",
                remedy="Give the statements as text with their set-up.",
            )
        if request.needs_this_process and memory:
            raise DefinitionError(
                "memory can be measured only for text here: another process does not have the objects of this one",
                remedy="Give the statements as text with their set-up, or use Timer(…).measure_memory().",
            )

    def plan(self) -> WorkOrders:
        order = self._order(self._request.contenders[0])
        return WorkOrders(SUITE, order.id, (order,))

    def titles(self) -> Mapping[str, str]:
        return {order.id: order.label[-1] for order in self.plan()}

    def header(self, sides: Sequence[StartedSide]) -> dict[str, Any]:
        return self._request.header()

    def open(self, stack: contextlib.ExitStack, observer: Observer) -> tuple[StartedSide, ...]:
        """Start the session of text.

        Callables are opened when they are ranked, because the way depends on what they do.
        """
        request = self._request
        if request.needs_this_process or (request.is_on_device_here and not self._measures_more):
            return ()
        if self.settings.instructions:
            # Known before anything is measured.
            find_valgrind()
        session = stack.enter_context(Session(request.environment))
        if self.settings.instructions:
            # Its server imports torch while the statements are timed.
            prepares = [Prepare(each.stmt, each.setup) for each in request.contenders]
            start_counter_ahead(session, prepares, request.num_threads)
        return tuple(StartedSide(contender.name, session) for contender in request.contenders)

    @property
    def _measures_more(self) -> bool:
        return self.settings.instructions or self.settings.memory

    def check(self, sides: Sequence[StartedSide], observer: Observer) -> CheckedPlan:
        """Compile C++, all statements together. The first replicate shows which statements do not run."""
        request = self._request
        built: list[BuiltSnippet | None] = [None] * len(request.contenders)
        if request.language is Language.CPP:
            if request.device is not None:
                # Compiling takes long.
                _check_device(request.device.device, sides[0].session.facts())
            built = [*built_snippets(request)]
        # Text that reaches an accelerator: the clock must wait for its queue.
        waits = any(names_accelerator(f"{each.setup}\n{each.stmt}") for each in request.contenders)
        first, *_ = (orders := [self._order(each) for each in request.contenders])
        ready = {
            place: ReadyOrder(dataclasses.replace(order, id=first.id), built=snippet, waits_for_device=waits)
            for place, (order, snippet) in enumerate(zip(orders, built, strict=True))
        }
        return CheckedPlan((first,), {first.id: ready})

    def rank(self, sides: Sequence[StartedSide], checked: CheckedPlan, on_look: OnLook | None = None) -> Ranking:
        """Take replicates until every pair is decided, or the time is spent. Raise the error of a statement."""
        request = self._request
        if request.device is not None and not request.is_on_device_here:
            ready = checked.ready[checked.orders[0].id]
            return rank_built_on_device(
                sides[0].session,
                {
                    each.name: snippet
                    for place, each in enumerate(request.contenders)
                    if (snippet := ready[place].built)
                },
                request.device,
                request.stopping,
                num_threads=request.num_threads,
                timeout_seconds=request.timeout_seconds,
                on_look=on_look,
            )
        if request.device is not None:
            return rank_on_device(
                request.contenders, request.device, request.stopping, num_threads=request.num_threads, on_look=on_look
            )
        seconds = replicate_seconds(request)
        stopping = request.stopping
        if request.needs_this_process:
            opened = open_source(
                request.contenders,
                num_threads=request.num_threads,
                seconds=seconds,
                seed=request.seed,
                timeout_seconds=request.timeout_seconds,
            )
            if not opened.is_forked:
                bias = max(stopping.criteria.shared_bias, ONE_PROCESS_BIAS)
                criteria = dataclasses.replace(stopping.criteria, shared_bias=bias)
                stopping = dataclasses.replace(stopping, criteria=criteria)
        else:
            contestants = checked.contestants(sides, checked.orders)
            opened = CallableSource(ForkSampler(contestants, seconds=seconds, seed=request.seed), "", True)
        names = [contender.name for contender in request.contenders]
        return rank_side_by_side(names, opened.source, stopping, on_look=on_look, measured_by=opened.measured_by)

    def _check_syntax(self) -> None:
        """Raise the error of a statement that is not Python before a server is started, which imports torch."""
        if self._request.language is Language.PYTHON and self._request.environment is None:
            # Another interpreter may know more syntax than this one.
            for contender in self._request.contenders:
                check_python(contender.stmt, contender.setup)

    def _order(self, contender: Contender) -> WorkOrder:
        request = self._request
        setup = "" if request.language is Language.CPP and contender.setup == "pass" else contender.setup
        explicit = (RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT)
        auto = AutoLabels(*explicit, request.language, request.num_threads, ranks=request.ranks)
        args = TimerArgs(
            contender.stmt, setup, request.global_setup, request.num_threads, request.language, check=False
        )
        content = [SUITE, contender.stmt, setup, request.global_setup, request.num_threads]
        identity = content_hash([*content, *([request.ranks] if request.ranks else [])])
        return WorkOrder(
            identity,
            (SUITE, contender.name),
            auto,
            args,
            timeout_seconds=request.timeout_seconds,
            seed=request.seed,
        )


def _check_device(device: str, facts: TorchFacts) -> None:
    """Raise if the environment has no such accelerator."""
    there = [each for each in facts.devices if each != "cpu"]
    if device not in (ANY, *there) or not there:
        raise DeviceMissing(
            f"there is no {'accelerator' if device == ANY else f'device {device}'} that this torch ({facts.torch}) can "
            "use",
            remedy="Run on a machine with one, with a torch built for it, or leave the device out.",
        )


def replicate_seconds(request: AbRequest) -> float:
    """Return the seconds per replicate that give each statement as many blocks as if there were two."""
    return min(REPLICATE_SECONDS * len(request.contenders) / 2, request.stopping.budget)


def built_snippets(request: AbRequest) -> list[BuiltSnippet]:
    """Compile all statements together. Raise the error of the first that does not compile."""
    from photometer.instruments.cpp.build import build_snippets

    snippets = [
        CppSnippet(each.stmt, "" if each.setup == "pass" else each.setup, request.global_setup)
        for each in request.contenders
    ]
    outcomes = build_snippets(snippets)
    for outcome in outcomes:
        if isinstance(outcome, BuildError):
            raise outcome
    return cast("list[BuiltSnippet]", outcomes)
