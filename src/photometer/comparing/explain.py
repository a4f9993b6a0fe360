"""explain: the cause of a change: the user's code that changed, and the same pairs in other memory layouts.

Each side is explained against the reference. Only benchmarks that changed are timed and counted in other layouts,
because each layout needs its own server. They are counted once more with Python's functions in the call tree, to name
the code that gained or lost instructions.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from photometer.analysis.cause import InstructionChange
from photometer.analysis.changed_code import ChangedCode, changed_code
from photometer.comparing.comparison_file import ComparisonFile
from photometer.comparing.counts import CountedSuite, count_sides
from photometer.comparing.fork_sampler import ForkSampler, replicate_record
from photometer.comparing.kept_counts import KeptCounts
from photometer.comparing.source import CheckedPlan, Observer, StartedSide
from photometer.errors import PhotometerError, ToolMissing, WorkerError
from photometer.instruments.callgrind.call_tree import SMALLEST_SHARE
from photometer.instruments.callgrind.count_order import count_task_of
from photometer.instruments.callgrind.counter import InstructionCounter, counter_of
from photometer.instruments.callgrind.python_frames import NO_FRAMES, CallSite, FramedSide, fitted_stacks
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.code_folder import make_code_folder
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.packed_stacks import ComparisonStacks, pack_stacks, unpack_stacks
from photometer.model.whole_file import write_text_whole
from photometer.plan.work_order import WorkOrder
from photometer.session.layout import random_layouts
from photometer.session.session import ServerKind
from photometer.stats.replicate import estimate_replicate


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
        counter = counter_of(sides[place].session, python_frames=True)
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
    """Return the kept stacks; None if they cannot be read. The file is data."""
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
    """Keep the stacks of a side. If that fails, only the next comparison takes longer."""
    calls = {
        frame: [[site.callee, site.line, times] for site, times in sites.items()]
        for frame, sites in framed.calls.items()
    }
    stacks = pack_stacks(framed.stacks, smallest_share=SMALLEST_SHARE)
    with contextlib.suppress(OSError, PhotometerError):
        make_code_folder(path.parent, path.parent.parent)
        write_text_whole(path, json.dumps({"stacks": stacks, "lines": dict(framed.lines), "calls": calls}))


# A median of three: one fork in a hundred has an outlier.
REPLICATES_PER_LAYOUT = 3

Key = tuple[str, int]
"""The id of an order, and the position of the side that is compared with the reference."""


@dataclasses.dataclass(frozen=True)
class Explanation:
    """By order and side: the side over the reference in each other layout, and the instructions of both."""

    layout_ratios: Mapping[Key, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    counts: Mapping[Key, InstructionChange] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Explainer:
    """The inputs that all steps of an explanation need."""

    sides: Sequence[StartedSide]
    checked: CheckedPlan
    counted: CountedSuite
    file: ComparisonFile
    core: int | None
    observer: Observer

    def explain(self, changed: Sequence[WorkOrder], layouts: int) -> Explanation:
        """Find the code that changed, then time and count the `changed` orders in other layouts."""
        changed_ids = {order.id for order in changed}
        again = [
            key
            for key in self.counted.against_reference()
            if key[0] in changed_ids or self.counted.change(*key).has_changed
        ]
        code = self._find_code(again)
        ratios = self._try_other_layouts(changed, layouts - 1)
        counts, warnings = self._explain_counts(again, layouts, code)
        return Explanation(ratios, counts, warnings)

    def _find_code(self, keys: Sequence[Key]) -> dict[Key, tuple[ChangedCode, ...]]:
        """Return the code behind each change, and keep both sides' stacks, so that text and flame graph agree."""
        wanted = list(dict.fromkeys(key for order_id, place in keys for key in ((order_id, 0), (order_id, place))))
        framed = framed_counts(self.sides, self.checked, self.counted, wanted, self.observer)
        code: dict[Key, tuple[ChangedCode, ...]] = {}
        for order_id, place in keys:
            both = [(order_id, 0), (order_id, place)]
            stacks = [self.counted.counts[key].packed_stacks for key in both]
            if all(key in framed for key in both):
                stacks = [pack_stacks(framed[key].stacks) for key in both]
                code[order_id, place] = changed_code(*(framed[key] for key in both))
            # A statement that does no more than the empty loop has no stacks.
            if all(side["tree"] for side in stacks):
                runs = self.counted.counts[order_id, 0].counts.number_per_run
                self.file.keep(ComparisonStacks(order_id, runs, stacks[0], stacks[1], place))
        return code

    def _try_other_layouts(self, changed: Sequence[WorkOrder], layouts: int) -> dict[Key, tuple[float, ...]]:
        ratios: dict[Key, list[float]] = {}
        if changed and layouts > 0:
            self.observer.stage("timing changed benchmarks in other memory layouts")
        for number, layout in enumerate(random_layouts(layouts) if changed else (), start=1):
            sampler = ForkSampler(self.checked.contestants(self.sides, changed), core=self.core, layout=layout)
            for index, order in enumerate(changed):
                taken = [r for r in self.file.replicates if r.layout == number and r.order_id == order.id]
                places = self.checked.places(order.id)
                try:
                    for turn in range(0 if taken else REPLICATES_PER_LAYOUT):
                        taken.append(replicate_record(order.id, sampler.take(index, turn), places, number))
                        self.file.keep(taken[-1])
                except WorkerError:
                    # It ran in the frozen layout; a crash in another does not affect the verdict.
                    continue
                for place in places[1:]:
                    logs = [_log_ratio(replicate, place) for replicate in taken]
                    ratios.setdefault((order.id, place), []).append(math.exp(statistics.median(logs)))
            for side in self.sides:
                side.session.drop(ServerKind(layout))
            self.observer.step(number, layouts)
        return {key: tuple(found) for key, found in ratios.items()}

    def _explain_counts(
        self, again: Sequence[Key], layouts: int, code: Mapping[Key, tuple[ChangedCode, ...]]
    ) -> tuple[dict[Key, InstructionChange], tuple[str, ...]]:
        """Return the change of every counted order; count those of `again` in other layouts, too."""
        more: list[CountedSuite] = []
        warnings: tuple[str, ...] = ()
        if again and layouts > 1:
            self.observer.stage("counting changed benchmarks in other memory layouts")
        order_ids = list(dict.fromkeys(order_id for order_id, _ in again))
        try:
            for number, layout in enumerate(random_layouts(layouts - 1) if again else (), start=1):
                more.append(count_sides(self.sides, self.checked, order_ids, layout=layout))
                self.observer.step(number, layouts - 1)
        except (ToolMissing, WorkerError) as error:
            warnings = (f"instructions were not counted in other layouts: {error.message}",)
        changes = {
            key: self.counted.change(*key, more if key in again else (), code.get(key, ()))
            for key in self.counted.against_reference()
        }
        return changes, warnings


def _log_ratio(replicate: ComparisonReplicate, place: int) -> float:
    seconds = replicate.seconds_per_run
    return estimate_replicate(seconds[0], seconds[place]).log_ratio
