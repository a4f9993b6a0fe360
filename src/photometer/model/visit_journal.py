"""VisitJournal: the visits of orders that are not finished, in a file beside a run's results, so that none is lost.

A results file has whole measurements. Until an order has all of its visits they stand here, one per line; `--resume`
goes on from them, and `with_unfinished` shows what they say so far. The file goes when nothing is unfinished.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from photometer.errors import ResultsFileError
from photometer.model.measurement import Measurement
from photometer.model.records import from_record, to_record
from photometer.model.results_format import decode, encode_line
from photometer.model.results_reader import Results
from photometer.model.task import TaskSpec
from photometer.model.visit import Visit, measurement_of_visits
from photometer.model.whole_file import not_written

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
        str(order.get("id"))
        for record in results.records
        if record["kind"] in (Measurement.KIND, "failure") and isinstance(order := record.get("order"), Mapping)
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
