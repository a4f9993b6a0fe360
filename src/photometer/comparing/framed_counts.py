"""Count what changed once more, with Python's functions in the call tree, to name the code that gained or lost.

In: both sides' sessions and counts. Out: a FramedSide per side and order, whose stacks sum to the exact counts. The
counting servers are still running, so it takes a second or two per order; for a revision, the result is kept with its
counts.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from photometer.analysis.changed_code import FramedSide
from photometer.comparing.kept_counts import KeptCounts, SideCount
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.errors import PhotometerError
from photometer.execution.executor import ReadyOrder
from photometer.execution.measure_order import count_task_of
from photometer.instruments.callgrind.call_tree import SMALLEST_SHARE
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.fitted_stacks import fitted_stacks
from photometer.instruments.callgrind.python_frames import NO_FRAMES, CallSite
from photometer.instruments.code_folder import make_code_folder
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.packed_stacks import pack_stacks, unpack_stacks
from photometer.model.whole_file import write_text_whole


def framed_counts(
    sides: StartedSides,
    checked: CheckedPlan,
    counted: Mapping[str, tuple[SideCount, SideCount]],
    order_ids: Sequence[str],
    observer: Observer,
) -> dict[str, tuple[FramedSide, FramedSide]]:
    """Return both sides of each order; leave out those that fail on either side or have no stacks."""
    counters = [InstructionCounter(side.session, python_frames=True) for side in sides]
    framed: dict[str, tuple[FramedSide, FramedSide]] = {}
    if not order_ids:
        return framed
    kept = [KeptCounts.of(side.resolved) for side in sides]
    observer.stage("finding the code that changed")
    threads = ThreadPoolExecutor(len(sides))
    try:
        for done, order_id in enumerate(order_ids, start=1):
            ready = [prepared.ready[order_id] for prepared in checked.prepared]
            counts = [side.counts for side in counted[order_id]]
            base, branch = threads.map(_framed, counters, ready, counts, kept)
            if base is not None and branch is not None:
                framed[order_id] = (base, branch)
            observer.step(done, len(order_ids))
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
    task = count_task_of(ready)
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
