"""A timeline of one run: what torch's profiler saw on the host and on accelerators, in order.

In: a session and an order. Out: a Timeline: events by lane, a table of the time per operation, and the text of a trace
that Perfetto and chrome://tracing open. It explains, and measures nothing: the profiler adds a microsecond or more to
each operation.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence

from photometer.instruments.ready_order import ReadyOrder, prepared_child
from photometer.session.session import Session
from photometer.worker.timeline import HOST, RUN, WatchRun

# The first run of a statement may compile; watching it takes a second or two more.
WATCHING_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class TimelineEvent:
    """`start` is in nanoseconds since the run began; `depth` is how many events of its lane it lies inside."""

    name: str
    lane: str
    start: int
    length: int
    depth: int = 0

    @property
    def end(self) -> int:
        return self.start + self.length

    @property
    def on_host(self) -> bool:
        return self.lane.split(" ")[0] == HOST


@dataclasses.dataclass(frozen=True)
class Work:
    """All events of one name: how many, and their nanoseconds without those of events inside them."""

    name: str
    calls: int
    own: int


@dataclasses.dataclass(frozen=True)
class Timeline:
    """One run: events by their beginning; `missed` of them were too many to keep."""

    events: tuple[TimelineEvent, ...]
    missed: int = 0

    @property
    def lanes(self) -> tuple[str, ...]:
        """The host's threads, then the devices' streams, each in the order in which they first appear."""
        lanes = dict.fromkeys(event.lane for event in self.events)
        return tuple(sorted(lanes, key=lambda lane: lane.split(" ")[0] != HOST))

    @property
    def length(self) -> int:
        return max((event.end for event in self.events), default=0)

    @property
    def has_kernels(self) -> bool:
        return any(not event.on_host for event in self.events)

    def work(self) -> list[Work]:
        """Return the work by its time, the longest first: kernels and copies of devices, or else host operations."""
        counted = [event for event in self.events if event.on_host is not self.has_kernels and event.name != RUN]
        own = {id(event): event.length for event in counted}
        for inner, outer in _inside(counted):
            own[id(outer)] -= inner.length
        calls: dict[str, list[int]] = {}
        for event in counted:
            calls.setdefault(event.name, []).append(max(own[id(event)], 0))
        return sorted((Work(name, len(found), sum(found)) for name, found in calls.items()), key=lambda each: -each.own)


def record_timeline(session: Session, ready: ReadyOrder, cores: Sequence[int] = ()) -> Timeline:
    """Run an order once under torch's profiler."""
    with prepared_child(session, ready, cores, warmup_runs=1) as child:
        seen = child.ask(WatchRun(), ready.order.timeout_seconds + WATCHING_SECONDS)
    rows = zip(seen.names, seen.lanes, seen.starts, seen.lengths, strict=True)
    return timeline_of([TimelineEvent(*row[:2], start=row[2], length=row[3]) for row in rows], seen.missed)


def timeline_of(events: Sequence[TimelineEvent], missed: int = 0) -> Timeline:
    """Return the events since the run began, each with its depth, without those before the run."""
    begin = min((event.start for event in events if event.name == RUN), default=0)
    found: list[TimelineEvent] = []
    open_in: dict[str, list[TimelineEvent]] = {}
    # Of two that begin together, the longer one is outside.
    for event in sorted(events, key=lambda event: (event.start, -event.length)):
        if event.start < begin:
            continue
        around = open_in.setdefault(event.lane, [])
        moved = dataclasses.replace(event, start=event.start - begin)
        while around and around[-1].end <= moved.start:
            around.pop()
        placed = dataclasses.replace(moved, depth=len(around))
        around.append(placed)
        found.append(placed)
    return Timeline(tuple(found), missed)


def _inside(events: Iterable[TimelineEvent]) -> Iterable[tuple[TimelineEvent, TimelineEvent]]:
    """Yield each event with the one that it lies directly inside, on its lane."""
    open_in: dict[str, list[TimelineEvent]] = {}
    for event in events:
        around = open_in.setdefault(event.lane, [])
        while around and around[-1].end <= event.start:
            around.pop()
        if around:
            yield event, around[-1]
        around.append(event)


def trace_text(timelines: Sequence[tuple[str, Timeline]]) -> str:
    """Return a trace in Chrome's format, which Perfetto reads too: a process per side, a thread per lane."""
    rows: list[dict[str, object]] = []
    for process, (side, timeline) in enumerate(timelines, start=1):
        rows.append({"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": side}})
        numbers = {lane: number for number, lane in enumerate(timeline.lanes, start=1)}
        for lane, number in numbers.items():
            rows.append({"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": lane}})
        for event in timeline.events:
            times = {"ts": event.start / 1e3, "dur": event.length / 1e3}
            rows.append({"ph": "X", "name": event.name, "pid": process, "tid": numbers[event.lane], **times})
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": rows}) + "\n"
