"""How a command ends early: by a signal, or because the machine lacks something.

SIGTERM and SIGHUP end it as Ctrl-C does, so that results are kept and nothing is left behind. Every command runs inside
`ending_by_signals`. The first signal raises KeyboardInterrupt, which unwinds the work; further ones are ignored,
because `timeout` and some CI runners send two, and the second must not stop the cleanup.
"""

from __future__ import annotations

import contextlib
import errno
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType

from photometer.cli.exit_codes import ExitCode
from photometer.errors import PhotometerError, WorkerTimeout

# Windows has neither SIGHUP nor SIGALRM, which is what `limited` sends.
ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM") if hasattr(signal, name)
)
# For pytest, which has its own way with Ctrl-C: a second one ends a fixture that does not end.
BESIDES_CTRL_C = tuple(number for number in ENDING_SIGNALS if number != signal.SIGINT)
# What a shell reports for a program that Ctrl-C ended; `Ending.status` has that of the signal that came.
STOPPED = 128 + signal.SIGINT
# An interrupt that comes while torch's C++ is imported may be lost, and with it the end of --limit: it is repeated, but
# not so soon that it could stop the cleanup of the first.
REPEAT_SECONDS = 15.0
# Each server takes about six and a run has one per core at most; below this, importing torch itself may fail.
FEWEST_OPEN_FILES = 64

# Importing a build of torch for processors alone took 623 MiB of addresses; others take more.
LEAST_ADDRESS_BYTES = 600 * 2**20

_MORE_MEMORY = "Allow more, such as with `ulimit -v unlimited`, or close other programs."
OUT_OF_MEMORY = f"memory ran out\n{_MORE_MEMORY}"
_REMEDIES = {
    errno.ENOMEM: _MORE_MEMORY,
    errno.EMFILE: "Allow more open files, such as with `ulimit -n 1024`.",
    errno.ENFILE: "Close other programs, or raise the system's limit (fs.file-max).",
    errno.ENOSPC: "Free some space, or name another folder (TMPDIR is where temporary files go). Results are kept.",
    errno.EDQUOT: "Free some space, or name another folder (TMPDIR is where temporary files go). Results are kept.",
    errno.ENAMETOOLONG: "Give a shorter name.",
    errno.EROFS: "Name a folder that can be written to (TMPDIR is where temporary files go).",
}


class Ending:
    """The signal that came, if any."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    @property
    def status(self) -> int:
        """128 and the signal's number, as shells count: 130 for Ctrl-C, 143 for SIGTERM; 1 at the end of --limit."""
        if self.is_limit:
            return ExitCode.FAILED
        return STOPPED if self.signal is None else 128 + self.signal

    @property
    def is_limit(self) -> bool:
        """Return whether the time limit (--limit) was reached."""
        return self.signal is not None and self.signal.name == "SIGALRM"

    @property
    def words(self) -> str:
        if self.is_limit:
            return "stopped: the time limit (--limit) was reached"
        return "stopped" if self.signal in (None, signal.SIGINT) else f"stopped by {self.signal.name}"

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        came = signal.Signals(number)
        if self.signal is None or (self.is_limit and came is self.signal):
            self.signal = came
            raise KeyboardInterrupt


@contextlib.contextmanager
def ending_by_signals(numbers: Sequence[signal.Signals] = ENDING_SIGNALS) -> Iterator[Ending]:
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        # Python lets only the main thread handle signals.
        yield ending
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in numbers}
    for number, handler in before.items():
        # Whoever starts us with a signal ignored means it: nohup, or a shell for a job in the background. The alarm is
        # our own, and --limit must hold whatever was ignored before.
        if handler is not signal.SIG_IGN or number.name == "SIGALRM":
            signal.signal(number, ending._arrive)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            # After a signal the process ends; what it still tidies at its exit must not be stopped either.
            is_over = ending.signal is None or number.name == "SIGALRM"
            signal.signal(number, handler if is_over else signal.SIG_IGN)


@contextlib.contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """End the block as a signal does, after so many seconds; None for no limit."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds, REPEAT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


class _TooLong(BaseException):
    """The statement takes too long. No `except Exception` of the user's code catches it."""


@contextlib.contextmanager
def giving_up_after(seconds: float | None, subject: str) -> Iterator[None]:
    """Raise WorkerTimeout if the block takes longer; the statement runs in this process, so a signal interrupts it."""
    if seconds is None or not hasattr(signal, "pthread_kill"):
        yield
        return

    def give_up(number: int, frame: FrameType | None) -> None:
        raise _TooLong

    waiting = threading.Timer(seconds, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
    waiting.daemon = True
    before = signal.signal(signal.SIGUSR1, give_up)
    try:
        try:
            waiting.start()
            yield
        finally:
            # Once it has ended no signal can come any more, and one that was on its way has been handled.
            waiting.cancel()
            waiting.join()
    except _TooLong:
        raise WorkerTimeout(
            f"{subject} took longer than {seconds:g} s", remedy="Allow more with --timeout, or measure less."
        ) from None
    finally:
        signal.signal(signal.SIGUSR1, before)


def check_open_files() -> None:
    """Raise the limit of open files if it is far too low, or warn about it."""
    try:
        import resource
    except ImportError:  # Windows, which check_system refuses with the remedy
        return
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    except PermissionError:  # a container that refuses prlimit
        return
    if soft == resource.RLIM_INFINITY or soft >= FEWEST_OPEN_FILES:
        return
    if hard != resource.RLIM_INFINITY and hard < FEWEST_OPEN_FILES:
        raise PhotometerError(
            f"only {hard} files may be open at once here; photometer needs {FEWEST_OPEN_FILES}",
            remedy=_REMEDIES[errno.EMFILE],
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEWEST_OPEN_FILES, hard))


def check_address_space() -> None:
    """Refuse a limit of memory under which torch's own C++ would abort the process while it is imported."""
    try:
        import resource
    except ImportError:  # Windows, which check_system refuses with the remedy
        return
    try:
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except OSError:  # a container that refuses the call
        return
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_BYTES:
        raise PhotometerError(
            f"this process may use {limit // 2**20:,} MiB of memory at most, and torch needs more", remedy=_MORE_MEMORY
        )


def check_system() -> None:
    """Refuse native Windows, which has neither fork nor the file locks that results need."""
    if sys.platform == "win32":
        raise PhotometerError(
            "photometer does not run on Windows itself",
            remedy="Use WSL, the Windows Subsystem for Linux (`wsl --install`); install photometer and torch there.",
        )


def lacking_words(error: OSError) -> str | None:
    """Return the missing resource and the remedy, or None if the error is of another kind."""
    if error.errno not in _REMEDIES:
        return None
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror}\n{_REMEDIES[error.errno]}"
