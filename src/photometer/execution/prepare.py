"""Prepare a plan in one environment: script models, compile C++, make each order ready to run.

In: a plan and the facts of an environment. Out: the work that this needs, and ReadyOrders. The scheduler of `run` and
`check` does that work beside other work; `compare` and `flame` call `prepare`, which does it at once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from photometer.errors import CacheError
from photometer.execution.executor import BuildSnippets, Done, Executor, Failure, MeasureOrder, ScriptModel
from photometer.execution.steps import Step
from photometer.instruments.cpp.snippet import BuiltSnippet, CppSnippet
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.code_folder import VARIABLE, cache_root, code_folder_locked, make_code_folder
from photometer.model.task import Language
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, ScriptingJob, WorkOrder, WorkOrders
from photometer.session.layout import of_fixed_length
from photometer.session.left_behind import private_folder
from photometer.session.session import ServerKind, Session
from photometer.worker.messages import Prepare, TorchFacts

# In the child. torch.jit.script asks for the source and keeps the name of its file in the model: from linecache it gets
# both, and no name that differs from run to run, which would be another state of memory wherever the model is loaded.
_SCRIPTING = """\
import linecache, sys, types
name, source = "photometer_scripted.py", {source!r}
linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
module = sys.modules["photometer_scripted"] = types.ModuleType("photometer_scripted")
module.__file__ = name
exec(compile(source, name, "exec"), module.__dict__)
module.jit_model.save({model!r})
"""


class Preparation:
    """The models and builds of a plan, and their outcomes. `side` is one letter, so that paths have one length."""

    def __init__(
        self,
        facts: TorchFacts,
        *,
        side: str = "a",
        include_paths: Sequence[str] = (),
    ) -> None:
        self._torch_folder = facts.torch_folder
        self._include_paths = tuple(include_paths)
        # The same path in every run, so that compiled snippets that name it are found again; another for another torch.
        build = hashlib.sha256(f"{facts.torch_folder} {facts.git_version}".encode()).hexdigest()[:8]
        version = re.sub(r"[^\w.+-]", "_", facts.torch)
        self._models = cache_root() / "models" / f"{version}-{build}-{side}"
        self._built: dict[str, BuiltSnippet] = {}

    def scripting(self, job: ScriptingJob, cores: tuple[int, ...] = ()) -> ScriptModel:
        return ScriptModel(job.source, self._model_path(job.id) or "", DEFAULT_TIMEOUT_SECONDS, cores)

    def building(self, orders: Sequence[WorkOrder], cores: tuple[int, ...] = ()) -> BuildSnippets:
        """Return the build of these C++ orders."""
        args = [order.with_model_path(self._model_path(order.model_id) or "").args for order in orders]
        snippets = tuple(CppSnippet(each.stmt, each.setup, each.global_setup) for each in args)
        return BuildSnippets(snippets, self._torch_folder, self._include_paths, cores)

    def keep_built(self, orders: Sequence[WorkOrder], outcomes: Sequence[BuiltSnippet | Failure]) -> dict[str, Failure]:
        """Keep the build of these orders. Return the failures by order."""
        failures = {}
        for order, outcome in zip(orders, outcomes, strict=True):
            if isinstance(outcome, Failure):
                failures[order.id] = outcome
            else:
                self._built[order.id] = outcome
        return failures

    def ready(self, order: WorkOrder) -> ReadyOrder:
        return ReadyOrder(order, self._model_path(order.model_id), self._built.get(order.id))

    def measuring(
        self,
        step: Step,
        order: WorkOrder,
        *,
        min_run_time: float,
        repeats: int,
        path: tuple[str, ...] = (),
        folder: str = "",
        cores: tuple[int, ...] = (),
    ) -> MeasureOrder:
        return MeasureOrder(self.ready(order), min_run_time, repeats, cores, step=step, path=path, folder=folder)

    def _model_path(self, model_id: str | None) -> str | None:
        # Of fixed length: it is in the text of set-ups, and a longer text is another state of memory.
        return None if model_id is None else of_fixed_length(str(self._models / f"{model_id}.pt"))


@dataclasses.dataclass(frozen=True)
class PreparedPlan:
    """Every order of a plan in one environment: ready, or why not; `no_device` need an accelerator that is not here."""

    facts: TorchFacts
    ready: Mapping[str, ReadyOrder]
    failures: Mapping[str, Failure]
    no_device: frozenset[str] = frozenset()


def prepare(
    plan: WorkOrders, executor: Executor, facts: TorchFacts, *, side: str = "a", include_paths: Sequence[str] = ()
) -> PreparedPlan:
    """Script all models and build all C++ of the plan."""
    there = tuple(order for order in plan if not order.auto.on_device or order.auto.device in facts.devices)
    no_device = frozenset(order.id for order in plan) - {order.id for order in there}
    plan = plan.only(there)
    preparation = Preparation(facts, side=side, include_paths=include_paths)
    failures: dict[str, Failure] = {}
    for job in plan.scripting_jobs:
        outcome = executor.execute(preparation.scripting(job))
        if isinstance(outcome, Failure):
            failures |= {order.id: outcome for order in plan if order.model_id == job.id}
    compiled = [order for order in plan if order.args.language is Language.CPP and order.id not in failures]
    if compiled:
        built = executor.execute(preparation.building(compiled))
        if isinstance(built, Done):
            failures |= preparation.keep_built(compiled, built.outcomes)
        else:
            failures |= {order.id: built for order in compiled}
    ready = {order.id: preparation.ready(order) for order in plan if order.id not in failures}
    return PreparedPlan(facts, ready, failures, no_device)


def script_model(session: Session, work: ScriptModel) -> None:
    """Make the model in a child and save it, whole or not at all."""
    target = Path(work.path)
    try:
        # The cache's own folder, then `models`, then that of the environment.
        make_code_folder(target.parent, below=target.parents[2])
        with private_folder("scripting") as folder:
            model = folder / "model.pt"
            setup = _SCRIPTING.format(source=work.source, model=str(model))
            prepare = Prepare(setup=setup)
            with session.child(ServerKind().importing(prepare), work.cores) as child:
                child.ask(prepare, work.timeout_seconds)
            _keep_model(model, target)
    except OSError as error:
        raise CacheError(
            f"{target.parent}: scripted models cannot be kept there: {error.strerror or error}",
            remedy=f"Name a folder of yours in {VARIABLE}.",
        ) from error


def _keep_model(model: Path, target: Path) -> None:
    """Move the model into the cache, which may be on another file system.

    Readers see a whole model, old or new.
    """
    with code_folder_locked(target.parent):
        # One name under the lock: should this process be killed now, the next one overwrites it.
        new = target.with_suffix(".new")
        shutil.copyfile(model, new)
        new.replace(target)
