"""Graph replay: one run captured, its replays timed; or the reason why it cannot be captured."""

from __future__ import annotations

from collections.abc import Callable

from photometer.instruments.clock import Clock
from photometer.instruments.device.accelerator import Accelerator, GraphCapture, RunBlock, WorkQueue

# Of a driver's message the first line says what happened; the rest is advice for its developers.
LONGEST_REASON = 160


def why_no_graph(accelerator: Accelerator, *, synchronises: bool, has_work: bool) -> str | None:
    """What speaks against trying."""
    if accelerator.graphs is None:
        return accelerator.why_missing("graphs")
    if not has_work:
        return "there is no device work to capture"
    return "a run waits for the device, which a graph cannot" if synchronises else None


def capture_run(graphs: GraphCapture, queue: WorkQueue, run: RunBlock, clock: Clock) -> RunBlock | str:
    """A block of replays to run in place of the statement, or why there is none. `run` is not to be used afterwards."""
    try:
        replay = graphs.capture(lambda: run(1))
    except Exception as error:  # whatever the driver, torch or the statement has against it is the answer
        queue.synchronize()
        return _reason(error)
    return _replays(replay, clock)


def _replays(replay: Callable[[], None], clock: Clock) -> RunBlock:
    def run(runs: int) -> float:
        start = clock()
        for _ in range(runs):
            replay()
        return clock() - start

    return run


def _reason(error: BaseException) -> str:
    """The first thing that went wrong: torch's own error at the end of a capture often only follows from it."""
    while error.__context__ is not None:
        error = error.__context__
    text = str(error).strip().split("\n")[0] or type(error).__name__
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
