"""VisitJournal: the visits of a run that is under way, in a file beside its results, so that a killed run loses none.

A results file has whole measurements. Until an order has all of its visits they stand here, one per line; `--resume`
reads them, and the file goes when the run has ended. In: visits. Out: the same visits by order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

from photometer.errors import ResultsFileError
from photometer.execution.rounds import VisitBook
from photometer.execution.run_file import RunFile
from photometer.execution.steps import TIME
from photometer.model.records import from_record, to_record
from photometer.model.results_format import decode, encode_line
from photometer.model.visit import Visit
from photometer.model.whole_file import not_written

JOURNAL_NAME = "visits.jsonl"
# A run of 10,000 orders has some 50 MB.
LARGEST_JOURNAL_BYTES = 256 * 1024 * 1024


@contextlib.contextmanager
def kept_visits(file: RunFile, seconds_per_order: float) -> Iterator[VisitBook]:
    """Yield a book whose visits are kept beside the results file until the block ends well; it has those of before."""
    journal = VisitJournal(file.path.parent, file.run_id)
    timed = {order_id for order_id, step in file.finished if step == TIME.name}
    earlier = journal.read(timed)
    if not earlier:
        journal.remove()
    yield VisitBook(seconds_per_order, earlier=earlier, on_visit=journal.add)
    journal.remove()


class VisitJournal:
    """One file per folder. `run_id` says whose visits they are: those of other runs are not read."""

    def __init__(self, folder: Path, run_id: str) -> None:
        self.path = folder / JOURNAL_NAME
        self._run_id = run_id
        self._line_is_open = False

    def read(self, finished: Collection[str] = ()) -> dict[str, list[Visit]]:
        """Return the visits of this run by order, except those of finished orders; a torn line is left out."""
        visits: dict[str, list[Visit]] = {}
        try:
            with self.path.open("rb") as file:
                content = file.read(LARGEST_JOURNAL_BYTES)
        except OSError:
            return visits
        self._line_is_open = bool(content) and not content.endswith(b"\n")
        for line in content.split(b"\n"):
            with contextlib.suppress(ValueError, RecursionError, ResultsFileError):
                entry = decode(line)
                if isinstance(entry, dict) and entry.get("run") == self._run_id:
                    order_id, visit = str(entry.get("order")), from_record(Visit, entry.get("visit"))
                    if order_id not in finished and visit.block_seconds:
                        visits.setdefault(order_id, []).append(visit)
        return visits

    def add(self, order_id: str, visit: Visit) -> None:
        """Append a visit. It is not forced to the disk, which would disturb what is timed: the kernel has it."""
        entry = {"run": self._run_id, "order": order_id, "visit": to_record(visit)}
        line = encode_line(entry, "a visit") + b"\n"
        try:
            with self.path.open("ab") as file:
                file.write(b"\n" + line if self._line_is_open else line)
            self._line_is_open = False
        except OSError as error:
            raise not_written(self.path, error) from error

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
