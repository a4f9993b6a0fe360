"""A process that adds runs to a store for ever, one record at a time; the test of eight writers kills it at random.

    python -m tests.history.writer_process PLACE WRITER RUNS RECORDS

It prints a line for each record that was written, after it was.
"""

from __future__ import annotations

import sys

from photometer.history.store import open_store
from tests.history.records import counts, header, origin


def main(place: str, writer: int, runs: int, records: int) -> None:
    with open_store(place) as store:
        for run in range(runs):
            opened = store.open_run(header(f"writer-{writer}-run-{run}"), origin(run))
            for number in range(records):
                # Half of the records are the same for all writers: they share contents and benchmarks.
                value = 1000 + number if number % 2 else 100_000 * (writer + 1) + number
                opened.add([counts(f"b{number}", value)])
                sys.stdout.write(f"{run} {number}\n")
                sys.stdout.flush()
            opened.finish()


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:5]))
