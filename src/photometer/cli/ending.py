"""How a signal ends the command: SIGTERM and SIGHUP as Ctrl-C does, so that results are kept and nothing is left.

Every command runs inside `ending_by_signals`. The first signal raises KeyboardInterrupt, which unwinds the work;
further ones are ignored, because `timeout` and some CI runners send two, and the second must not stop the tidying.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

# Windows has no SIGHUP.
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# What a shell reports for a program that Ctrl-C ended; `Ending.status` has that of the signal that came.
STOPPED = 128 + signal.SIGINT


class Ending:
    """Which signal came, if one did."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    @property
    def status(self) -> int:
        """128 and the signal's number, as shells count: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""
        return STOPPED if self.signal is None else 128 + self.signal

    @property
    def words(self) -> str:
        return "stopped" if self.signal in (None, signal.SIGINT) else f"stopped by {self.signal.name}"

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal = signal.Signals(number)
            raise KeyboardInterrupt


@contextlib.contextmanager
def ending_by_signals() -> Iterator[Ending]:
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        # Python lets only the main thread handle signals.
        yield ending
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in ENDING_SIGNALS}
    for number, handler in before.items():
        # Whoever starts us with a signal ignored means it: nohup, or a shell for a job in the background.
        if handler is not signal.SIG_IGN:
            signal.signal(number, ending._arrive)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            # After a signal the process ends; what it still tidies at its exit must not be stopped either.
            signal.signal(number, handler if ending.signal is None else signal.SIG_IGN)
