"""Count what changed once more, with Python's functions in the call tree, to name the code that gained or lost.

In: started sides and their counts. Out: a FramedSide per side and order, whose stacks sum to the exact counts. The
counting servers are still running, so it takes a second or two per order; for a revision, the result is kept with its
counts.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from photometer.comparing.counts import CountedSuite
from photometer.comparing.kept_counts import KeptCounts
from photometer.comparing.observer import Observer
from photometer.comparing.source import CheckedPlan, StartedSide
from photometer.errors import PhotometerError
from photometer.instruments.callgrind.call_tree import SMALLEST_SHARE
from photometer.instruments.callgrind.count_order import count_task_of
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.fitted_stacks import fitted_stacks
from photometer.instruments.callgrind.python_frames import NO_FRAMES, CallSite, FramedSide
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.code_folder import make_code_folder
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.packed_stacks import pack_stacks, unpack_stacks
from photometer.model.whole_file import write_text_whole


def framed_counts(
    sides: Sequence[StartedSide],
    checked: CheckedPlan,
    counted: CountedSuite,
    wanted: Sequence[tuple[str, int]],
    observer: Observer,
) -> dict[tuple[str, int], FramedSide]:
    """Return each order on each side, by id and position; leave out those that fail or have no stacks."""
    framed: dict[tuple[str, int], FramedSide] = {}
    if not wanted:
        return framed
    observer.stage("finding the code that changed")

    def frame_side(place: int) -> None:
        counter = InstructionCounter(sides[place].session, python_frames=True)
        kept = KeptCounts.of(sides[place].resolved)
        for order_id in [order_id for order_id, where in wanted if where == place]:
            found = _framed(counter, checked.ready[order_id][place], counted.counts[order_id, place].counts, kept)
            if found is not None:
                framed[order_id, place] = found
            observer.step(len(framed), len(wanted))

    threads = ThreadPoolExecutor(min(len(sides), os.cpu_count() or 1))
    try:
        list(threads.map(frame_side, range(len(sides))))
    except BaseException:
        for side in sides:
            side.session.kill()
        raise
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
    return framed


def _framed(
    counter: InstructionCounter, ready: ReadyOrder, counts: InstructionCounts, kept: KeptCounts
) -> FramedSide | None:
    # As often as it was counted before.
    task = count_task_of(ready).of_runs(counts.number_per_run)
    path = kept.beside(ready.order, task, "frames")
    found = None if path is None else read_framed(path, counts.number_per_run)
    if found is not None:
        return found
    try:
        counted = counter.count(task, python_frames=True)
    except PhotometerError:
        # The change is known; only its source is not.
        return None
    frames = counted.frame_maps[0] if counted.frame_maps else NO_FRAMES
    stacks = fitted_stacks(counted.stacks(), counts)
    if not stacks:
        return None
    framed = FramedSide(tuple(stacks), counts.number_per_run, frames.lines, frames.calls)
    if path is not None:
        write_framed(path, framed)
    return framed


def read_framed(path: Path, runs: int) -> FramedSide | None:
    """Return what was kept; None if it cannot be read. The file is data."""
    try:
        record = json.loads(path.read_text())
        calls = {
            str(frame): {CallSite(str(callee), int(line)): float(times) for callee, line, times in sites}
            for frame, sites in record["calls"].items()
        }
        lines = {str(frame): int(line) for frame, line in record["lines"].items()}
        stacks = unpack_stacks(record["stacks"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, PhotometerError):
        return None
    return FramedSide(stacks, runs, lines, calls) if stacks else None


def write_framed(path: Path, framed: FramedSide) -> None:
    """Keep a side. If that fails, only the next comparison takes longer."""
    calls = {
        frame: [[site.callee, site.line, times] for site, times in sites.items()]
        for frame, sites in framed.calls.items()
    }
    stacks = pack_stacks(framed.stacks, smallest_share=SMALLEST_SHARE)
    with contextlib.suppress(OSError, PhotometerError):
        make_code_folder(path.parent, path.parent.parent)
        write_text_whole(path, json.dumps({"stacks": stacks, "lines": dict(framed.lines), "calls": calls}))
