"""Run statements until their memory has settled: until a run takes what earlier runs have given back.

In the first runs, small objects that stay come to lie in what a run has freed, and the next run takes new memory, whose
pages the kernel clears: 2,048 of them for a result of 8 MiB, several times as long as the work. How many runs do so
depends on what lies in the heap, and thus on what a side has imported. What is timed begins after them. All sides run
equally often, so that their random numbers stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.session.child_process import ChildProcess
from photometer.worker.messages import Time, Timed

# Three were the most that needed new memory in what was tried; a statement that keeps growing needs it in each.
MOST_RUNS = 12
# One alone may have found room by chance.
SETTLED_RUNS = 2
# Slower statements are measured at once: their replicates would take too long.
MOST_SECONDS = 0.5
# 128 KiB. Small objects take some pages now and then, and smaller results are warm after the blocks that are discarded.
FEW_PAGES = 32


def settle_memory(children: Sequence[ChildProcess], timeout_seconds: float) -> None:
    """Run each child's statement until two runs in a row find their memory in the process, in all children."""
    settled, seconds = 0, 0.0
    for runs in range(1, MOST_RUNS + 1):
        watched = [child.ask(Time(1, watches_pages=True), timeout_seconds) for child in children]
        settled = 0 if any(is_new_memory(each) for each in watched) else settled + 1
        seconds += sum(each.seconds for each in watched)
        # Another run of each takes about as long as those so far, on average.
        if settled == SETTLED_RUNS or seconds * (runs + 1) > MOST_SECONDS * runs:
            return


def is_new_memory(run: Timed) -> bool:
    """Whether a run has made the process larger. What it maps and gives back, every time, is part of the statement."""
    return run.touched_pages > FEW_PAGES and run.kept_pages > run.touched_pages / 2
