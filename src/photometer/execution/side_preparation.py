"""One side of a comparison made ready: its facts asked, models scripted, C++ compiled against its own torch.

In: the side's started server and the plan. Out: a PreparedSide with an order ready to run, or its error, for every
order that has its device here. Scripted models lie in a folder named after the side, so that both sides' paths have
one length.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from photometer.errors import BuildError, PhotometerError, WorkerError
from photometer.execution.measure_order import ReadyOrder, run_once
from photometer.execution.script_model import model_folder, script_model
from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet
from photometer.instruments.cpp.torch_build import torch_build_from_folder
from photometer.model.language import Language
from photometer.model.probe_result import Surroundings
from photometer.plan.probe import PROBE_FOLDER, with_result_path
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, WorkOrder, WorkOrders
from photometer.session.fork_server import ForkServer

SideName = Literal["base", "branch"]
# One letter each: they are part of paths, whose length must not tell the sides apart.
_LETTER: dict[SideName, str] = {"base": "a", "branch": "b"}


@dataclasses.dataclass(frozen=True)
class PreparedSide:
    """`no_device` are the orders for an accelerator that this side's torch cannot use: they are left out.

    `cpp_probes` are compiled: run once, each leaves its results in a file named after its order.
    """

    facts: dict[str, Any]
    ready: dict[str, ReadyOrder]
    failures: dict[str, PhotometerError]
    no_device: frozenset[str] = frozenset()
    cpp_probes: dict[str, ReadyOrder] = dataclasses.field(default_factory=dict)
    probe_failures: dict[str, PhotometerError] = dataclasses.field(default_factory=dict)


def _is_there(order: WorkOrder, devices: Sequence[str]) -> bool:
    return not order.auto.on_device or order.auto.device in devices


def ask_facts(server: ForkServer) -> dict[str, Any]:
    with server.child() as child:
        return {**server.greeting, **child.ask("facts")}


def prepare_side(
    server: ForkServer, plan: WorkOrders, side: SideName, cpp_probes: Sequence[WorkOrder] = ()
) -> PreparedSide:
    """Everything that is done once a side, before any order runs."""
    facts = ask_facts(server)
    runnable = plan.only(tuple(order for order in plan if _is_there(order, facts["devices"])))
    no_device = frozenset(order.id for order in plan) - frozenset(order.id for order in runnable)
    plan = runnable
    models, failed_models = _script_models(server, plan, side, facts)
    built, failures = _build(plan, facts, models)
    named = [with_result_path(probe, probe.id) for probe in cpp_probes if probe.id in built]
    built_probes, not_built = _build(named, facts, models, CppOptions(include_paths=(PROBE_FOLDER,)))
    ready: dict[str, ReadyOrder] = {}
    for order in plan:
        if order.model_id in failed_models:
            failures[order.id] = failed_models[order.model_id]
        if order.id not in failures:
            ready[order.id] = ReadyOrder(order, models.get(order.model_id or ""), built.get(order.id))
    probes = {
        probe.id: ReadyOrder(probe, models.get(probe.model_id or ""), built_probes[probe.id])
        for probe in named
        if probe.id in built_probes
    }
    return PreparedSide(facts, ready, failures, no_device, probes, not_built)


def run_cpp_check(server: ForkServer, side: PreparedSide, order_id: str, folder: Path) -> Surroundings:
    """Run a compiled statement once, and its probe where there is one."""
    run_once(server, side.ready[order_id], ())
    if order_id in side.probe_failures:
        return Surroundings(not_compared_because=side.probe_failures[order_id].message)
    probe = side.cpp_probes.get(order_id)
    if probe is None:
        return Surroundings()
    results = folder / probe.order.id
    results.unlink(missing_ok=True)
    try:
        run_once(server, probe, (), str(folder))
    except WorkerError as error:
        # The statement itself has just run; that it cannot be run twice, or shown, is no reason not to compare it.
        return Surroundings(not_compared_because=error.message)
    return Surroundings(results=json.loads(results.read_text(encoding="utf-8")) if results.exists() else None)


def run_check(
    server: ForkServer, ready: ReadyOrder, probe: WorkOrder | None, folder: Path, checkout: Path | None
) -> Surroundings:
    """Run the statement once and tell what it left. `probe` is the order rewritten to write its results, if it has."""
    results, around = folder / "results.json", folder / "around.json"
    for file in (results, around):
        file.unlink(missing_ok=True)
    order = ready.order if probe is None else with_result_path(probe, str(results))
    below = "" if checkout is None else str(checkout)
    stmt = (
        f"{order.args.stmt}\nimport photometer_surroundings\n"
        f"photometer_surroundings.write_surroundings({str(around)!r}, {below!r})"
    )
    args = dataclasses.replace(order.args, stmt=stmt, check=False)
    check = dataclasses.replace(ready, order=dataclasses.replace(order, args=args))
    run_once(server, check, (str(PROBE_FOLDER),))
    record = json.loads(around.read_text(encoding="utf-8"))
    return Surroundings(
        # Python's own spelling of nan and inf is meant here: the file is the probe's.
        results=json.loads(results.read_text(encoding="utf-8")) if results.exists() else None,
        modules=tuple(record["modules"]),
        num_threads=record["num_threads"],
        flushes_denormals=record["flushes_denormals"],
    )


def _script_models(
    server: ForkServer, plan: WorkOrders, side: SideName, facts: dict[str, Any]
) -> tuple[dict[str, str], dict[str | None, PhotometerError]]:
    # The same path in every run, so that compiled snippets that name it are found again; another for another torch.
    build = hashlib.sha256(f"{facts['torch_folder']} {facts['git_version']}".encode()).hexdigest()[:8]
    folder = model_folder(f"{facts['torch']}-{build}-{_LETTER[side]}")
    models: dict[str, str] = {}
    failed: dict[str | None, PhotometerError] = {}
    for job in plan.scripting_jobs:
        try:
            script_model(server, job.source, folder / f"{job.id}.pt", DEFAULT_TIMEOUT_SECONDS)
            models[job.id] = str(folder / f"{job.id}.pt")
        except PhotometerError as error:
            failed[job.id] = error
    return models, failed


def _build(
    plan: Iterable[WorkOrder], facts: dict[str, Any], models: dict[str, str], options: CppOptions | None = None
) -> tuple[dict[str, BuiltSnippet], dict[str, PhotometerError]]:
    orders = [
        order.with_model_path(models.get(order.model_id or "", ""))
        for order in plan
        if order.args.language is Language.CPP and (order.model_id is None or order.model_id in models)
    ]
    if not orders:
        return {}, {}
    try:
        torch_build = torch_build_from_folder(Path(facts["torch_folder"]))
        snippets = [CppSnippet(order.args.stmt, order.args.setup, order.args.global_setup) for order in orders]
        outcomes = build_snippets(snippets, torch_build=torch_build, options=options)
    except PhotometerError as error:
        return {}, {order.id: error for order in orders}
    built: dict[str, BuiltSnippet] = {}
    failures: dict[str, PhotometerError] = {}
    for order, outcome in zip(orders, outcomes, strict=True):
        if isinstance(outcome, BuildError):
            failures[order.id] = outcome
        else:
            built[order.id] = outcome
    return built, failures
