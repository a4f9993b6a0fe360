"""The results file of a run: created with a header that describes the run, or opened again to be continued.

In: the path, the plan, the facts of the environment. Out: the file to append to, and the steps it already has. A suite
whose labels were edited is continued: an order is the same if its code is the same (statement, set-up, threads,
device, and how it runs). Every record of an order has its identity, by which `--resume` and comparisons find it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import queue
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from photometer.errors import DefinitionError
from photometer.execution.executor import Failure
from photometer.execution.rounds import VisitBook
from photometer.execution.run_settings import RunSettings
from photometer.execution.steps import TIME, Step, finished_steps
from photometer.instruments.cpp.torch_build import build_fingerprint
from photometer.instruments.machine_facts import gather_machine, short_flags
from photometer.instruments.ready_order import task_spec_of
from photometer.instruments.registry import BY_KIND
from photometer.model.machine import Machine, TorchBuild
from photometer.model.order_name import order_id_of
from photometer.model.records import to_record
from photometer.model.results_file import ResultsFile
from photometer.model.results_folder import make_results_folder
from photometer.model.results_format import SKIPPED
from photometer.model.results_reader import load_results
from photometer.model.visit import Visit, VisitJournal
from photometer.model.whole_file import not_written
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.worker.messages import TorchFacts

RESULTS_NAME = "results.json"
_CODE = ("stmt", "setup", "global_setup", "num_threads")


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
    """Open `folder/results.json`. An existing file is continued with `resume`, and otherwise kept under another name.

    The header names the commit `measured`, if it is not the one that is checked out here, and the `machine` that
    measures, if it is not this one. Call this while the folder is held (model/results_folder.py), and hold it for
    as long as records are added.
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


@contextlib.contextmanager
def kept_visits(file: RunFile, settings: RunSettings) -> Iterator[VisitBook]:
    """Yield a book whose visits are kept in a journal beside the results file until all their orders are finished.

    It begins with the visits of an earlier run. The journal stays if the block fails, or if the run is quick.
    """
    journal = VisitJournal(file.path.parent, file.run_id)
    timed = {order_id for order_id, step in file.finished if step == TIME.name}
    earlier = journal.read(timed)
    described: set[str] = set()

    def keep(order: WorkOrder, visit: Visit) -> None:
        if book.orders_begun == book.taken(order.id) == 1:
            # What stands in the journal is of orders that are in the results file.
            journal.remove()
        about = identified({"task_spec": to_record(task_spec_of(order))}, order)
        journal.add(order.id, visit, None if order.id in described else about)
        described.add(order.id)

    visits = {order_id: each.visits for order_id, each in earlier.items()}
    book = VisitBook(settings.min_run_time, earlier=visits, on_visit=keep, is_quick=settings.quick)
    yield book
    if not book.orders_begun:
        journal.remove()


def _free_name(path: Path) -> Path:
    """Return an unused name with the file's date: a rename would replace an existing file."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(path.stat().st_mtime))
    endings = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (path.with_name(f"{path.stem}-{stamp}{ending}.json") for ending in endings)
    return next(name for name in names if not name.exists())


def _continue(path: Path, about: Mapping[str, Any], plan: WorkOrders, machine: Machine) -> RunFile:
    results = load_results(path, recover=True)
    before = results.header.get("run")
    before = before if isinstance(before, Mapping) else {}
    for name in ("suite", "python", "torch", "torch_build", "seed"):
        # Files of 0.1 say which version of torch, but not which build.
        if before.get(name) != about[name] and not (name == "torch_build" and name not in before):
            raise DefinitionError(
                f"{path} cannot be continued: its {name} was {before.get(name)!r} and is now {about[name]!r}",
                remedy="Run without --resume; the earlier results are kept beside the new ones.",
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
        "torch_build": build_fingerprint(Path(facts.torch_folder)) if facts.torch else None,
        "min_run_time": settings.min_run_time,
        "repeats": settings.repeats,
        "seed": settings.seed,
        # The order of the suite, in which tables show them; they are measured in another.
        "orders": [order.id for order in plan],
    }


def machine_of(facts: TorchFacts) -> Machine:
    """Return this machine, with the Python and the torch (if any) that are measured."""
    if not facts.torch:
        return dataclasses.replace(gather_machine(), python=facts.python, torch=None)
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


def renamed_records(records: Sequence[Mapping[str, Any]], plan: WorkOrders) -> list[dict[str, Any]]:
    """Return the records of the plan's orders; those of others are left out.

    Records without an order (peaks), or of several (ladder steps, speed-ups), name ids of the former plan: they are
    measured again. Two orders with the same code cannot be distinguished by it, so their results are not kept.
    """
    codes = Counter(_code_of_order(order) for order in plan)
    by_code = {code: order for order in plan if codes[code := _code_of_order(order)] == 1}
    by_id = {order.id: order for order in plan}
    former = {}
    for record in records:
        order, spec = record.get("order"), record.get("task_spec")
        if isinstance(order, Mapping) and isinstance(spec, Mapping):
            former[order_id_of(record)] = _code(spec, order.get("auto"))
    kept = []
    for record in records:
        identity = order_id_of(record)
        now = by_id.get(identity) or by_code.get(former.get(identity, ""))
        instrument = BY_KIND.get(str(record["kind"]))
        if now is not None and (instrument is None or instrument.against is None):
            kept.append(_renamed(record, now))
    return kept


def _renamed(record: Mapping[str, Any], order: WorkOrder) -> dict[str, Any]:
    named = identified(record, order)
    if isinstance(record.get("task_spec"), Mapping):
        named["task_spec"] = to_record(task_spec_of(order))
    return named


def _code_of_order(order: WorkOrder) -> str:
    return _code(to_record(task_spec_of(order)), to_record(order.auto))


def _code(spec: Mapping[str, Any], auto: object) -> str:
    """Return the identity of an order's code; fields with their defaults are left out of records."""
    given = {name: value for name in _CODE if (value := spec.get(name)) not in (None, "", "pass", 1)}
    return json.dumps([given, auto], sort_keys=True, default=str)


# Waiting records are in memory, so their number is limited.
MOST_WAITING = 1000


class RecordWriter:
    """Use as a context manager; everything is written when the block ends."""

    def __init__(self, write: Callable[[Any], object]) -> None:
        self._write = write
        self._waiting: queue.Queue[Any] = queue.Queue(MOST_WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="record writer", daemon=True)

    def keep(self, record: Any) -> None:
        """Take a record; wait only if the queue is full."""
        self._raise()
        self._waiting.put(record)

    def flush(self) -> None:
        """Return when all records so far are written."""
        self._waiting.join()
        self._raise()

    def __enter__(self) -> RecordWriter:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.put(_END)
        self._thread.join()
        if kind is None:
            self._raise()

    def _run(self) -> None:
        while (record := self._waiting.get()) is not _END:
            try:
                if self._error is None:
                    self._write(record)
            except BaseException as error:
                self._error = error
            finally:
                self._waiting.task_done()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error


_END = object()


def identified(record: Mapping[str, Any], order: WorkOrder) -> dict[str, Any]:
    """Return the record with the order it belongs to."""
    about = {"id": order.id, "label": list(order.label), "auto": to_record(order.auto)}
    return {**record, "order": {**about, "tags": list(order.tags)} if order.tags else about}


def failure_record(order: WorkOrder, step: Step, failure: Failure, attempts: int) -> dict[str, Any]:
    """Return the record of an order that was given up: at which step, and after how many attempts; or was skipped."""
    if failure.skipped:
        skip = {"kind": SKIPPED, "step": step.name, "reason": failure.message}
        return identified({**skip, "task_spec": to_record(task_spec_of(order))}, order)
    fields = {name: getattr(failure, name) for name in ("type", "message", "log", "remedy", "exit_status")}
    record = {
        "kind": "failure",
        "step": step.name,
        "attempts": attempts,
        **{name: value for name, value in fields.items() if value},
        "task_spec": to_record(task_spec_of(order)),
    }
    return identified(record, order)
