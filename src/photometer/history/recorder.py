"""How results come into a store: from results files, or live, while a run, a comparison or an `ab` is measured.

`add_file` finds out which commit and project a file belongs to, and adds its records; a commit that git no longer knows
is kept by its name and the date of the run. A Recorder writes one record at a time, to the results file first, and then
to the store. If the store fails in the middle (a server that goes away, a full disk), the measurement goes on: the
failure is reported once, and `photometer history add` adds the rest later. `has_all` says which benchmarks of a commit
a store has already, so that they are not measured again; only results from a machine like this one count.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import select

from photometer.errors import PhotometerError
from photometer.history import schema
from photometer.history.connection import guarded
from photometer.history.identity import about_of, kind_of, machine_fingerprint, started_at
from photometer.history.nouns import Added, Commit
from photometer.history.repository import Repository
from photometer.history.store import Store, open_store
from photometer.history.writing import Origin
from photometer.instruments.machine_facts import gather_machine
from photometer.instruments.registry import BY_NAME
from photometer.model.comparison_replicate import header_of_side, records_of_side, sides_in
from photometer.model.machine import Machine
from photometer.model.records import to_record
from photometer.model.results_format import SKIPPED, Recordable
from photometer.model.results_reader import load_results
from photometer.model.visit import unfinished_in, with_unfinished
from photometer.plan.work_order import WorkOrder

LIVE = "live"


def add_file(
    store: Store,
    path: str | Path,
    *,
    commit: str | None = None,
    branch: str = "",
    recover: bool = False,
    project: str = "",
) -> Added:
    """Add a results file. `commit` replaces the file's own, if it has none or a wrong one."""
    path = Path(path)
    results = load_results(path, recover)
    sides = sides_in(results.header)
    added = []
    # A store keeps comparisons of two sides: one of more is kept as several.
    for place in range(1, max(sides, 2)):
        header, records = results.header, results.records
        if sides > 2:
            header, records = header_of_side(header, place), tuple(records_of_side(records, place))
        origin = origin_of(header, Repository.find(), commit=commit, branch=branch, source=path.name)
        if project:
            origin = dataclasses.replace(origin, project=project)
        added.append(store.add_run(header, records, origin))
    return Added(
        added[0].run_id,
        sum(each.new for each in added),
        sum(each.known for each in added),
        not_final=unfinished_in(with_unfinished(results)),
    )


def origin_of(
    header: Mapping[str, Any],
    repository: Repository | None,
    *,
    commit: str | None = None,
    branch: str = "",
    source: str = LIVE,
) -> Origin:
    """Return the origin of a run, from its header and from git."""
    about, machine = about_of(header), header.get("machine")
    facts = machine if isinstance(machine, Mapping) else {}
    date = started_at(header)
    base: Commit | None = None
    if commit is not None and repository is not None:
        own: Commit | None = repository.commit(commit)
        is_dirty = False
    elif kind_of(header) == "compare":
        base = _commit(_side(about, "base").get("commit"), repository, date)
        side = _side(about, "branch")
        own, is_dirty = _commit(side.get("commit"), repository, date), side.get("tree") is not None
    else:
        named = about.get("commit") or facts.get("commit")
        own, is_dirty = _commit(named, repository, date), bool(facts.get("commit_is_dirty")) and not about.get("commit")
    return Origin(
        project=str(about.get("project") or (repository.project() if repository is not None else "")),
        commit=own,
        base_commit=base,
        branch=branch or str(about.get("branch_name") or (repository.branch() if repository is not None else "")),
        is_dirty=is_dirty,
        source=source,
    )


def _commit(name: Any, repository: Repository | None, date: int) -> Commit | None:
    if not isinstance(name, str) or not name:
        return None
    found = None if repository is None else repository.find_commit(name)
    return found or Commit(name, committed_at=date, authored_at=date)


def _side(about: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    side = about.get(name)
    return side if isinstance(side, Mapping) else {}


class StoreWarning(UserWarning):
    """Results are not being stored; they are still written to the results file."""


class Recorder:
    """Use as a context manager. Records added after a failure are not stored."""

    def __init__(self, store: Store, header: Mapping[str, Any], origin: Origin, file: Path | None = None) -> None:
        self._store = store
        self._file = file
        self.place = store.place
        self._writer = store.open_run(header, origin)
        self._failed = False

    @property
    def run_id(self) -> int:
        return self._writer.run_id

    def add(self, record: Recordable | Mapping[str, Any]) -> None:
        """Write one record; it is stored when this returns."""
        self.add_all([record])

    def add_all(self, records: Sequence[Recordable | Mapping[str, Any]]) -> None:
        if self._failed or not records:
            return
        plain = [record if isinstance(record, Mapping) else to_record(record) for record in records]
        try:
            with guarded(self._store.engine.url):
                self._writer.add(plain)
        except PhotometerError as error:
            self._give_up(error)

    def finish(self) -> None:
        """Mark the run as complete."""
        if self._failed:
            return
        try:
            with guarded(self._store.engine.url):
                self._writer.finish()
        except PhotometerError as error:
            self._give_up(error)

    def close(self) -> None:
        self._store.close()

    def _give_up(self, error: PhotometerError) -> None:
        self._failed = True
        later = f" `photometer history add {self._file}` adds the rest later." if self._file is not None else ""
        warnings.warn(f"results are no longer stored: {error.message}.{later}", StoreWarning, stacklevel=2)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        self.close()


def open_recorder(
    place: str, header: Mapping[str, Any], *, origin: Origin | None = None, file: Path | None = None
) -> Recorder:
    """Open a store and begin (or continue) the run that the header describes."""
    store = open_store(place)
    try:
        return Recorder(store, header, origin or origin_of(header, Repository.find()), file)
    except BaseException:
        store.close()
        raise


def has_all(
    store: Store,
    sha: str,
    orders: Iterable[WorkOrder],
    steps: Collection[str],
    machines: Collection[Machine] = (),
) -> bool:
    """Whether the store has these steps of every order at a commit, as far as they apply to it.

    They may be from any of the `machines`; if none is given, from one like this.
    """
    found = _kinds_by_benchmark(store, sha, machines or (gather_machine(),))
    for order in orders:
        instruments = [BY_NAME[step] for step in steps]
        # Figures of several orders, such as a speed-up, are in records that belong to none.
        wanted = {each.kind for each in instruments if each.against is None and each.applies(order, {})}
        kinds = found.get(order.id, set())
        # A failure and a skip end their benchmark, so they stand for all of them.
        if not kinds & {"failure", SKIPPED} and not wanted <= kinds:
            return False
    return True


def _kinds_by_benchmark(store: Store, sha: str, machines: Collection[Machine]) -> dict[str, set[str]]:
    known = {machine_fingerprint({"machine": to_record(machine)}).digest for machine in machines}
    results, runs, benchmarks = schema.results, schema.runs, schema.benchmarks
    query = (
        select(benchmarks.c.key, results.c.kind)
        .join_from(results, runs, results.c.run_id == runs.c.id)
        .join(schema.commits, runs.c.commit_id == schema.commits.c.id)
        .join(schema.machines, runs.c.machine_id == schema.machines.c.id)
        .join(benchmarks, results.c.benchmark_id == benchmarks.c.id)
        .where(
            schema.commits.c.sha == sha,
            schema.machines.c.fingerprint.in_(known),
            runs.c.is_dirty.is_(False),
            runs.c.kind == "run",
        )
    )
    found: dict[str, set[str]] = {}
    with guarded(store.engine.url), store.engine.connect() as connection:
        for key, kind in connection.execute(query):
            found.setdefault(key, set()).add(kind)
    return found
