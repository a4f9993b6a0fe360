"""The results file of a run: made anew with all that the run is about in its header, or opened again to be continued.

In: where, the plan, the facts of the environment. Out: the file to append to, and the steps it already has.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from photometer.errors import DefinitionError
from photometer.execution.agenda import finished_steps
from photometer.execution.renamed_orders import renamed_records
from photometer.execution.run_settings import RunSettings
from photometer.instruments.cpp.torch_build import build_fingerprint
from photometer.instruments.machine_facts import gather_machine, short_flags
from photometer.model.machine import Machine, TorchBuild
from photometer.model.results_file import ResultsFile
from photometer.model.results_folder import make_results_folder
from photometer.model.results_reader import load_results
from photometer.model.whole_file import not_written
from photometer.plan.work_order import WorkOrders
from photometer.worker.messages import TorchFacts

RESULTS_NAME = "results.json"


@dataclasses.dataclass(frozen=True)
class RunFile:
    file: ResultsFile
    finished: frozenset[tuple[str, str]] = frozenset()
    run_id: str = ""

    @property
    def path(self) -> Path:
        return self.file.path


def open_run_file(
    folder: Path,
    plan: WorkOrders,
    settings: RunSettings,
    facts: TorchFacts,
    *,
    resume: bool,
    measured: Mapping[str, Any] | None = None,
    machine: Machine | None = None,
) -> RunFile:
    """Open `folder/results.json`. One that is there is continued with `resume`, else kept under another name.

    `measured` says in the header which commit it is about, if it is not the one that is checked out here, and `machine`
    which machine measures, if it is not this one. Call this while the folder is held (model/folder_lock.py), and hold
    it for as long as records are added.
    """
    path = folder / RESULTS_NAME
    about = {**_about(plan, settings, facts), **(measured or {})}
    if resume and path.exists():
        return _continue(path, about, plan, machine or machine_of(facts))
    try:
        make_results_folder(folder)
        if path.exists():
            path.rename(_free_name(path))
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder with -o.") from error
    file = ResultsFile.create(path, {"run": about}, machine=machine or machine_of(facts), overwrite=True)
    return RunFile(file, run_id=about["id"])


def _free_name(path: Path) -> Path:
    """Return a name with the file's date that nothing has yet: a rename would replace it."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(path.stat().st_mtime))
    endings = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (path.with_name(f"{path.stem}-{stamp}{ending}.json") for ending in endings)
    return next(name for name in names if not name.exists())


def _continue(path: Path, about: Mapping[str, Any], plan: WorkOrders, machine: Machine) -> RunFile:
    results = load_results(path, recover=True)
    before = results.header.get("run")
    before = before if isinstance(before, Mapping) else {}
    for name in ("suite", "python", "torch", "torch_build"):
        # Files of 0.1 say which version of torch, but not which build.
        if before.get(name) != about[name] and not (name == "torch_build" and name not in before):
            raise DefinitionError(
                f"{path} cannot be continued: its {name} was {before.get(name)!r} and is now {about[name]!r}",
                remedy="Run without --resume; the former results are kept beside the new ones.",
            )
    if before.get("fingerprint") != about["fingerprint"]:
        return _continue_edited(path, about, renamed_records(results.records, plan), machine)
    return RunFile(ResultsFile(path), frozenset(finished_steps(results.records)), str(before.get("id", "")))


def _continue_edited(
    path: Path, about: Mapping[str, Any], records: Sequence[Mapping[str, Any]], machine: Machine
) -> RunFile:
    """Begin a new file with the results of orders whose code is unchanged; the former file is kept beside it."""
    path.rename(_free_name(path))
    file = ResultsFile.create(path, {"run": about}, machine=machine, overwrite=True)
    for record in records:
        file.append(record)
    return RunFile(file, frozenset(finished_steps(records)), about["id"])


def _about(plan: WorkOrders, settings: RunSettings, facts: TorchFacts) -> dict[str, Any]:
    return {
        # Tells this run from all others, wherever its records go.
        "id": uuid.uuid4().hex,
        "suite": plan.suite,
        "fingerprint": plan.fingerprint,
        "python": facts.executable,
        "torch": facts.torch,
        "torch_build": build_fingerprint(Path(facts.torch_folder)),
        "min_run_time": settings.min_run_time,
        "repeats": settings.repeats,
        # The order of the suite, in which tables show them; they are measured in another.
        "orders": [order.id for order in plan],
    }


def machine_of(facts: TorchFacts) -> Machine:
    """This machine, with the Python and the torch that are measured."""
    build = facts.build
    capability = re.search(r"CPU capability usage: (\S+)", build)
    torch = TorchBuild(
        version=facts.torch,
        git_version=facts.git_version,
        debug=facts.debug,
        cuda=facts.cuda,
        cpu_capability=capability.group(1) if capability else None,
        cxx_flags=short_flags(build),
    )
    return dataclasses.replace(gather_machine(), python=facts.python, torch=torch)
