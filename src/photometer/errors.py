"""Every error photometer raises on purpose, one branch per stage.

    PhotometerError
    ├── DefinitionError       a mistake of an author: in a suite, a fuzzer's spec, arguments (also a ValueError)
    │   └── ImpossibleSpec        a fuzzer whose constraints nothing satisfies
    ├── MeasurementError      a measurement that cannot be evaluated, such as one without samples (also a ValueError)
    ├── DeviceMissing         no accelerator here, or none that this torch can use
    ├── ToolMissing           Valgrind, a compiler, py-spy or a browser is missing, or is too old
    │   └── ToolRefused           it exists, but the system does not permit it to work
    ├── BuildError            a C++ snippet did not compile
    ├── CacheError            the cache folder cannot be made, is full, or is not safe to load code from
    ├── CallgrindFileError    a Callgrind output file that is damaged, cut off, or of another version
    ├── WorkerError           the far side of the process line
    │   ├── WorkerStartError      the environment's server did not start
    │   ├── ProtocolError         the far side uses another version, or sends invalid messages
    │   ├── SnippetError          the user's code raised; carries its traceback
    │   │   ├── BenchmarkSkipped          unittest.SkipTest: the benchmark does not apply here
    │   │   └── CountError                under Valgrind, in `collect_callgrind` (also an OSError)
    │   ├── NodesGone             no node of a cluster is left
    │   ├── WorkerCrashed         the child died (signal, os._exit, out of memory)
    │   └── WorkerTimeout         the child exceeded its time limit
    ├── EnvironmentSpecError  BASE or BRANCH names no usable environment
    │   └── CannotRun             no benchmark runs there, all for one reason
    ├── LimitReached          the time limit passed before anything could be measured
    ├── ResultsFileError      a results file that is damaged, foreign, or of another version
    ├── StoreError            a history store that cannot be opened, read or written, or is of a newer version
    └── PostingError          a comment could not be posted: GitHub refused it, or cannot be reached

Each has the details that a person needs to act: command, exit status, the log or the child's traceback, and a remedy.
"""

from __future__ import annotations

import traceback
import types
from collections.abc import Sequence

# A compiler's command has a page of flags; its two ends tell what was run. The whole is in `error.command`.
LONGEST_COMMAND_SHOWN = 240


class PhotometerError(Exception):
    """The base of all errors: a message, the evidence, and what to do about it."""

    def __init__(
        self,
        message: str,
        *,
        command: Sequence[str] | None = None,
        exit_status: int | None = None,
        log: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.command = tuple(command) if command is not None else None
        self.exit_status = exit_status
        self.log = log
        self.remedy = remedy

    def __str__(self) -> str:
        parts = [self.message]
        if self.command is not None:
            parts.append("command: " + shorten(" ".join(self.command)))
        if self.exit_status is not None:
            parts.append(f"exit status: {self.exit_status}")
        if self.log:
            parts.append(self.log.rstrip())
        if self.remedy:
            parts.append(self.remedy)
        return "\n".join(parts)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and notebooks show: the caller's own lines and this message, without our frames."""
        lines = traceback.format_list(_callers_frames(self.__traceback__))
        head = ["Traceback (most recent call last):\n", *lines] if lines else []
        return ["".join([*head, f"{type(self).__name__}: {self}"])]


def _callers_frames(raised: types.TracebackType | None) -> list[traceback.FrameSummary]:
    """Return the frames between the machinery of a notebook and the call of photometer."""
    packages = [str(frame.f_globals.get("__name__", "")).partition(".")[0] for frame, _ in traceback.walk_tb(raised)]
    end = packages.index("photometer") if "photometer" in packages else len(packages)
    first = max((place + 1 for place in range(end) if packages[place] == "IPython"), default=0)
    return list(traceback.extract_tb(raised))[first:end]


def shorten(command: str) -> str:
    if len(command) <= LONGEST_COMMAND_SHOWN:
        return command
    half = LONGEST_COMMAND_SHOWN // 2
    return f"{command[:half]} … {command[-half:]}"


class DefinitionError(PhotometerError, ValueError):
    """An author's definition is wrong; raised where it is written, not where it would run."""


class ImpossibleSpec(DefinitionError):
    """A fuzzer's constraints reject (nearly) everything it draws."""


class MeasurementError(PhotometerError, ValueError):
    """A measurement that cannot be evaluated."""


class DeviceMissing(PhotometerError):
    """Device time was requested where torch finds no accelerator."""


class ToolMissing(PhotometerError):
    """A required program is missing or too old. The remedy names the install command."""


class ToolRefused(ToolMissing):
    """The tool exists, but is not permitted to work, such as py-spy. The remedy says how to allow it."""


class BuildError(PhotometerError):
    """A C++ snippet did not compile. The log is the compiler's message, in lines of the user's text."""


class CacheError(PhotometerError):
    """The cache folder cannot be made, is full, belongs to another user, or is writable by others."""


class CallgrindFileError(PhotometerError):
    """A Callgrind output file that cannot be read: the message names the file and the line."""


class WorkerError(PhotometerError):
    """Something went wrong on the far side of the process line."""


class WorkerStartError(WorkerError):
    """The environment's server did not start."""


class ProtocolError(WorkerError):
    """The far side speaks another protocol version, or did not send a message at all."""


class SnippetError(WorkerError):
    """The user's code raised in the worker. The log is its traceback, with the user's own lines."""

    def __init__(self, message: str, *, exception_type: str = "", log: str | None = None) -> None:
        super().__init__(message, log=log)
        self.exception_type = exception_type


class BenchmarkSkipped(SnippetError):
    """The user's code raised unittest.SkipTest: the benchmark does not apply here. The message is the reason."""


class CountError(SnippetError, OSError):
    """The same under Valgrind, from `Timer.collect_callgrind`; an OSError, as torch's is."""

    @classmethod
    def like(cls, error: SnippetError) -> CountError:
        """Return an error with the same content as another."""
        made = cls(error.message, exception_type=error.exception_type, log=error.log)
        made.remedy = error.remedy
        return made


class NodesGone(WorkerError):
    """No node of a cluster is left that could measure."""


class WorkerCrashed(WorkerError):
    """The child died before it replied: a signal, an exit, or the kernel's out-of-memory killer."""


class WorkerTimeout(WorkerError):
    """The child exceeded its time limit and was killed."""


class EnvironmentSpecError(PhotometerError, ValueError):
    """A description of an environment (interpreter, git revision, settings) that is not usable."""


class CannotRun(EnvironmentSpecError):
    """No benchmark runs in an environment, all for the same reason."""


class LimitReached(PhotometerError):
    """The time limit passed before anything could be measured. The message says what took so long."""


class ResultsFileError(PhotometerError):
    """A results file that cannot be read: the message names the file and the place."""


class StoreError(PhotometerError):
    """A history store that cannot be used. No message contains a password."""


class PostingError(PhotometerError):
    """A comment on a pull request could not be posted. No message contains a token."""
