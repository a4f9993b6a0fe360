"""run_command: run a program that makes a part of an environment, without a shell; its failure is an error.

Virtual environments, resolvers, installers and the user's own install command all go through here. Each runs in a
session of its own, so that it can be ended with everything that it has started (a build has many compilers), and has a
folder for temporary files that is removed however it ends. What it prints can be read while it runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from photometer.errors import EnvironmentSpecError
from photometer.session.left_behind import private_folder

# Building an extension module takes minutes; building torch itself, an hour or two.
INSTALL_SECONDS = 4 * 3600.0
# Of the output of a failed command: its end, where the reason is.
_LOG_CHARACTERS = 8000
# Of the output of a running command: enough for its last line.
_LAST_BYTES = 2000

_running: set[RunningCommand] = set()
_running_changes = threading.Lock()
# How often all commands were stopped: whoever waits for something else looks whether it has grown.
_stops = 0


class CommandStopped(EnvironmentSpecError):
    """We ended the command, because another side failed or the user stopped it; it is not an error by itself."""


@dataclasses.dataclass(eq=False)
class RunningCommand:
    """A running command, and the files that it prints to."""

    command: Sequence[str]
    process: subprocess.Popen[bytes]
    printed: tuple[Path, ...]
    is_stopped: bool = False

    def last_line(self) -> str:
        """Return the last line that it has printed."""
        lines = [line for file in self.printed for line in _end_of(file, _LAST_BYTES).splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""

    def stop(self) -> None:
        self.is_stopped = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def run_command(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    what: str = "the environment could not be made",
    remedy: str = "Check the install command.",
    with_complaints: bool = False,
) -> str:
    """Return what the command prints to standard output; `with_complaints`, also what it prints to standard error."""
    with private_folder("command") as place:
        temporary = place / "temporary"
        temporary.mkdir()
        inherited = dict(os.environ if variables is None else variables)
        files = (place / "output", place / "output" if with_complaints else place / "complaints")
        running = _start(command, folder, {**inherited, "TMPDIR": str(temporary)}, files, what, remedy)
        try:
            running.process.wait(INSTALL_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise EnvironmentSpecError(f"{what}: {error}", command=command, remedy=remedy) from error
        finally:
            with _running_changes:
                _running.discard(running)
            _end(running)
        if running.is_stopped:
            raise CommandStopped(f"{what}: it was stopped", command=command, remedy=remedy)
        if running.process.returncode != 0:
            raise EnvironmentSpecError(
                what,
                command=command,
                exit_status=running.process.returncode,
                log="".join(_end_of(file, _LOG_CHARACTERS) for file in dict.fromkeys(files))[-_LOG_CHARACTERS:],
                remedy=remedy,
            )
        return files[0].read_text(encoding="utf-8", errors="replace")


def _start(
    command: Sequence[str],
    folder: Path | None,
    variables: Mapping[str, str],
    files: tuple[Path, Path],
    what: str,
    remedy: str,
) -> RunningCommand:
    with files[0].open("ab") as output, files[1].open("ab") as complaints:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                env=variables,
                stdout=output,
                stderr=complaints,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise EnvironmentSpecError(f"{what}: {error}", command=command, remedy=remedy) from error
    running = RunningCommand(command, process, files)
    with _running_changes:
        _running.add(running)
    return running


def stop_commands() -> None:
    """End all commands that other threads wait for, because an environment failed or the user stopped us."""
    global _stops
    with _running_changes:
        _stops += 1
        for running in _running:
            running.stop()


def stops() -> int:
    """Return how often commands were stopped; a thread that waits for something else stops when that grows."""
    return _stops


def last_lines() -> list[str]:
    """Return the last line of each command that is under way."""
    with _running_changes:
        running = list(_running)
    return [line for each in running if (line := each.last_line())]


def _end(running: RunningCommand) -> None:
    """End the command with all its processes, after Ctrl-C or the time limit."""
    if running.process.poll() is None:
        running.stop()
        running.process.wait()


def _end_of(file: Path, most: int) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - most))
            return stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def variables_without_python_path() -> dict[str, str]:
    """Return the caller's variables without those that would lead an interpreter to packages of another."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
