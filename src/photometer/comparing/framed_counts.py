"""What changed, counted once more with Python's functions in the call tree: it names the code that gained or lost.

In: both sides' sessions and counts. Out: a FramedSide per side and order, whose stacks sum to the exact counts. The
servers that counted are still there, so it takes a second or two per order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from photometer.analysis.changed_code import FramedSide
from photometer.comparing.kept_counts import SideCount
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.errors import PhotometerError
from photometer.execution.executor import ReadyOrder
from photometer.execution.measure_order import count_task_of
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.fitted_stacks import fitted_stacks
from photometer.instruments.callgrind.python_frames import NO_FRAMES
from photometer.model.instruction_counts import InstructionCounts


def framed_counts(
    sides: StartedSides,
    checked: CheckedPlan,
    counted: Mapping[str, tuple[SideCount, SideCount]],
    order_ids: Sequence[str],
    observer: Observer,
) -> dict[str, tuple[FramedSide, FramedSide]]:
    """Return both sides of each order; one that fails on either side, or has no stacks, is left out."""
    counters = [InstructionCounter(side.session, python_frames=True) for side in sides]
    framed: dict[str, tuple[FramedSide, FramedSide]] = {}
    if not order_ids:
        return framed
    observer.stage("finding the code that changed")
    threads = ThreadPoolExecutor(len(sides))
    try:
        for done, order_id in enumerate(order_ids, start=1):
            ready = [prepared.ready[order_id] for prepared in checked.prepared]
            counts = [side.counts for side in counted[order_id]]
            base, branch = threads.map(_framed, counters, ready, counts)
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


def _framed(counter: InstructionCounter, ready: ReadyOrder, counts: InstructionCounts) -> FramedSide | None:
    try:
        counted = counter.count(count_task_of(ready), python_frames=True)
    except PhotometerError:
        # The change is known; only where it comes from is not.
        return None
    frames = counted.frame_maps[0] if counted.frame_maps else NO_FRAMES
    stacks = fitted_stacks(counted.stacks(), counts)
    return FramedSide(tuple(stacks), counts.number_per_run, frames.lines, frames.calls) if stacks else None
