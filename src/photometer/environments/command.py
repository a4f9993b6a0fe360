"""run_command: a program that makes a part of an environment, run to its end without a shell; its failure is an error.

Virtual environments, resolvers, installers and the user's own install command all go through here. Each runs in a
session of its own, so that it can be ended with everything that it has started (a build has many compilers).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from photometer.errors import EnvironmentSpecError

# Building an extension module takes minutes; building torch itself, an hour or two.
INSTALL_SECONDS = 4 * 3600.0
# Of the output of a failed command: its end, where the reason is.
_LOG_CHARACTERS = 8000

_running: set[subprocess.Popen[str]] = set()
_stopped: set[subprocess.Popen[str]] = set()
_running_changes = threading.Lock()


class CommandStopped(EnvironmentSpecError):
    """The command was ended by us, because another side failed or the user stopped; it says nothing by itself."""


def run_command(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    what: str = "the environment could not be made",
    remedy: str = "Check the install command.",
) -> str:
    """Return what the command prints to standard output."""
    try:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(os.environ if variables is None else variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentSpecError(f"{what}: {error}", command=command, remedy=remedy) from error
    with _running_changes:
        _running.add(process)
    try:
        output, complaints = process.communicate(timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentSpecError(f"{what}: {error}", command=command, remedy=remedy) from error
    finally:
        with _running_changes:
            _running.discard(process)
            was_stopped = process in _stopped
            _stopped.discard(process)
        _end(process)
    if was_stopped:
        raise CommandStopped(f"{what}: it was stopped", command=command, remedy=remedy)
    if process.returncode != 0:
        raise EnvironmentSpecError(
            what,
            command=command,
            exit_status=process.returncode,
            log=(output + complaints)[-_LOG_CHARACTERS:],
            remedy=remedy,
        )
    return output


def stop_commands() -> None:
    """End all commands that other threads are waiting for: one environment failed, or the user has stopped us."""
    with _running_changes:
        for process in _running:
            _stopped.add(process)
            _signal_group(process)


def _end(process: subprocess.Popen[str]) -> None:
    """After Ctrl-C or the time limit: end the command with all that it has started."""
    if process.poll() is None:
        _signal_group(process)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def variables_without_python_path() -> dict[str, str]:
    """Return the caller's variables without those that would lead an interpreter to packages of another."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
