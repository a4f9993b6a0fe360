"""Visit: blocks of one statement timed in one fresh process, and the measurement that several visits make together.

A run times each order in visits that are spread over it (execution/rounds.py). Blocks of one visit share the process,
the memory layout and the state of the machine, so that the visit, not the block, is the unit of the statistics. A
results file has whole measurements: until an order has all of its visits they stand in the VisitJournal beside it, one
per line. `--resume` goes on from them, and `with_unfinished` shows what they say so far.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from photometer.errors import ResultsFileError
from photometer.model.diagnosis import Conditions
from photometer.model.measurement import Measurement
from photometer.model.order_name import order_id_of
from photometer.model.records import NotNegative, Positive, from_record, to_record
from photometer.model.results_format import SKIPPED, decode, encode_line
from photometer.model.results_reader import Results
from photometer.model.task import TaskSpec
from photometer.model.whole_file import not_written


@dataclasses.dataclass(frozen=True)
class Visit:
    """Seconds of blocks of `number_per_run` runs in one process; `whole_seconds` is what the visit took in all."""

    KIND: ClassVar[str] = "visit"

    number_per_run: Positive
    block_seconds: tuple[NotNegative, ...]
    whole_seconds: NotNegative
    conditions: Conditions = Conditions()  # noqa: RUF009 - frozen, so sharing it is safe
    compile_seconds: float | None = None


def measurement_of_visits(visits: Sequence[Visit], task_spec: TaskSpec) -> Measurement:
    """Return one measurement of all blocks, in the order measured; it knows which of them are of one visit."""
    number = visits[0].number_per_run
    # Only an interrupted run that was continued elsewhere may have two numbers of runs per block.
    alike = [visit for visit in visits if visit.number_per_run == number]
    blocks = list(itertools.chain.from_iterable(visit.block_seconds for visit in alike))
    compiled = [visit.compile_seconds for visit in alike if visit.compile_seconds is not None]
    metadata: dict[Any, Any] | None = {"compile_seconds": compiled[0]} if compiled else None
    return Measurement(
        number,
        blocks,
        task_spec,
        metadata,
        _together([visit.conditions for visit in alike]),
        visit_blocks=[len(visit.block_seconds) for visit in alike],
    )


def _together(parts: Sequence[Conditions]) -> Conditions:
    """Return the conditions of all visits: counts as their sum, observations at their worst."""

    def total(name: str) -> Any:
        known = [value for part in parts if (value := getattr(part, name)) is not None]
        return sum(known) if known else None

    counted = ("warmup_runs", "wall_seconds", "cpu_seconds", "preemptions", "preempted_blocks")
    steps = [part.clock_resolution_seconds for part in parts if part.clock_resolution_seconds is not None]
    warm = [part.warmed_up for part in parts if part.warmed_up is not None]
    left = [part.left_processes for part in parts if part.left_processes is not None]
    return Conditions(
        clock_resolution_seconds=max(steps, default=None),
        warmed_up=all(warm) if warm else None,
        stopped_because=f"{len(parts)} visits" if len(parts) > 1 else "1 visit",
        left_processes=max(left, default=None),
        **{name: total(name) for name in counted},
    )


JOURNAL_NAME = "visits.jsonl"
# It has the visits of one group of orders, a few megabytes; after `run --quick`, one per order: some 1.5 KB each.
LARGEST_JOURNAL_BYTES = 256 * 1024 * 1024
# In a record that was made of an order's visits before it had all of them.
UNFINISHED = "unfinished"


@dataclasses.dataclass(frozen=True)
class Unfinished:
    """The visits of one order so far; `about` is its "task_spec" and "order", as its record will have them."""

    visits: tuple[Visit, ...]
    about: Mapping[str, Any]


class VisitJournal:
    """One file per folder. Only visits of the run `run_id` are read."""

    def __init__(self, folder: Path, run_id: str) -> None:
        self.path = folder / JOURNAL_NAME
        self._run_id = run_id
        self._line_is_open = False

    def read(self, finished: Collection[str] = ()) -> dict[str, Unfinished]:
        """Return the visits of this run by order, except those of finished orders; a torn line is left out."""
        visits: dict[str, list[Visit]] = {}
        abouts: dict[str, Mapping[str, Any]] = {}
        try:
            with self.path.open("rb") as file:
                content = file.read(LARGEST_JOURNAL_BYTES)
        except OSError:
            return {}
        self._line_is_open = bool(content) and not content.endswith(b"\n")
        for line in content.split(b"\n"):
            with contextlib.suppress(ValueError, RecursionError, ResultsFileError):
                entry = decode(line)
                if isinstance(entry, dict) and entry.get("run") == self._run_id:
                    order_id, visit = str(entry.get("order")), from_record(Visit, entry.get("visit"))
                    if order_id not in finished and visit.block_seconds:
                        visits.setdefault(order_id, []).append(visit)
                        about = entry.get("about")
                        if isinstance(about, Mapping):
                            abouts[order_id] = about
        return {order_id: Unfinished(tuple(each), abouts.get(order_id, {})) for order_id, each in visits.items()}

    def add(self, order_id: str, visit: Visit, about: Mapping[str, Any] | None = None) -> None:
        """Append a visit; `about` describes its order, and is needed once.

        It is not forced to the disk, which would disturb what is timed: the kernel has it.
        """
        entry = {"run": self._run_id, "order": order_id, "visit": to_record(visit)}
        line = encode_line(entry if about is None else {**entry, "about": about}, "a visit") + b"\n"
        try:
            with self.path.open("ab") as file:
                file.write(b"\n" + line if self._line_is_open else line)
            self._line_is_open = False
        except OSError as error:
            raise not_written(self.path, error) from error

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def with_unfinished(results: Results) -> Results:
    """Return the results of a run, with a record for each order that has some of its visits, but not all."""
    run = results.header.get("run")
    run_id = run.get("id") if isinstance(run, Mapping) else None
    if not isinstance(run_id, str) or not run_id:
        return results
    over = {
        order_id_of(record)
        for record in results.records
        if record["kind"] in (Measurement.KIND, "failure", SKIPPED) and isinstance(record.get("order"), Mapping)
    }
    records = []
    for each in VisitJournal(results.path.parent, run_id).read(over).values():
        order, spec = each.about.get("order"), each.about.get("task_spec")
        if isinstance(order, Mapping):
            with contextlib.suppress(ResultsFileError):
                measurement = measurement_of_visits(each.visits, from_record(TaskSpec, spec))
                records.append({**to_record(measurement), "order": order, UNFINISHED: True})
    return dataclasses.replace(results, records=(*results.records, *records))


def unfinished_in(results: Results) -> int:
    """Return how many records are of orders that lack some of their visits."""
    return sum(bool(record.get(UNFINISHED)) for record in results.records)
