"""Observe with torch's profiler one run of a statement: what the host did, and what accelerators did for it.

Host operations and kernels come with their start and length in nanoseconds, and with their lane: a thread, or a stream
of a device. The profiler determines which devices there are. See instruments/timeline.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .accelerators import device_in_use
from .messages import LoopRequest, Reply

if TYPE_CHECKING:
    from collections.abc import Callable

# The first session of the profiler takes its time to attach, and the first runs of a kernel to load it.
RUNS_BEFORE = 3
# Of one run; more would be a file that no browser opens.
MOST_EVENTS = 100_000
# What the profiler calls the run itself.
RUN = "the run"
HOST = "cpu"


@dataclass(frozen=True)
class SeenRun(Reply):
    """Parallel lists, an entry per event; `lanes` are those of the events, `missed` how many events were too many."""

    names: list[str]
    lanes: list[str]
    starts: list[int]
    lengths: list[int]
    missed: int = 0


@dataclass(frozen=True)
class WatchRun(LoopRequest[SeenRun]):
    """Run the statement once under torch's profiler."""

    verb: ClassVar[str] = "watch-run"
    reply: ClassVar[type[Reply]] = SeenRun

    def perform(self, run_block: Callable[[int], float]) -> SeenRun:
        import torch

        run_block(RUNS_BEFORE)
        events: list[Any] = []
        for _ in range(2):
            # The first session is for what only it does.
            with torch.profiler.profile(activities=torch.profiler.supported_activities()) as session:
                with torch.profiler.record_function(RUN):
                    run_block(1)
                device = device_in_use(torch)
                if device is not None:
                    device.synchronize()
            events = list(session.profiler.kineto_results.events())
        seen = [(_nanoseconds(each, "start"), event_lane(each), each) for each in events]
        seen.sort(key=lambda entry: entry[0])
        kept = seen[:MOST_EVENTS]
        return SeenRun(
            [str(each.name()) for _, _, each in kept],
            [lane for _, lane, _ in kept],
            [start for start, _, _ in kept],
            [_nanoseconds(each, "duration") for _, _, each in kept],
            len(seen) - len(kept),
        )


def event_lane(event: Any) -> str:
    """Return the lane of an event: `cpu 3` is a thread, `cuda:0 7` a stream of a device."""
    kind = str(event.device_type()).rpartition(".")[2].lower()
    if kind == HOST:
        return f"{HOST} {event.start_thread_id()}"
    return f"{kind}:{event.device_index()} {event.device_resource_id()}"


def _nanoseconds(event: Any, name: str) -> int:
    # Torch before 2.5 has microseconds.
    ask = getattr(event, f"{name}_ns", None)
    return int(ask()) if ask is not None else 1000 * int(getattr(event, f"{name}_us")())
