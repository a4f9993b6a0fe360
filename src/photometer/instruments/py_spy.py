"""py-spy on a spinning child: the stacks of a statement's own loop, native frames included, imports and set-up not.

In: a session and what its child prepares. Out: SampledStacks, whose weights are nanoseconds per run: the share
of samples times the time of a run, which is measured before py-spy, whose looking slows the child down, attaches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from photometer.errors import MeasurementError, PhotometerError, ToolMissing, ToolRefused, WorkerError
from photometer.session.child_process import ChildProcess
from photometer.session.left_behind import private_folder
from photometer.session.session import Session
from photometer.worker.messages import Prepare, Spin, Time

DEFAULT_DURATION_SECONDS = 3.0
# Unwinding native frames takes py-spy some milliseconds a sample, and it falls behind above this.
NATIVE_RATE_HZ = 200
PYTHON_RATE_HZ = 1000
# Reading the symbols of torch's libraries, some 500 MB, takes py-spy seconds before its first sample; more when busy.
LONGEST_START_SECONDS = 180.0
# The time of a run: the fastest of a few blocks, as a flame graph shows shares and not fine differences.
TIMING_BLOCKS = 20
TIMING_BLOCK_SECONDS = 0.005
WARMUP_RUNS = 100

# The frame of the loop around the user's statement (worker/python_loop.py); of a compiled one, its symbol.
LOOP_FRAME = "_photometer_blocks"
COMPILED_LOOP_END = "_kept_blocks"
COMPILED_SPACE_END = "_space"
_SNIPPET = re.compile(r"<photometer snippet \d+>")
_LOCAL = f"{LOOP_FRAME}.<locals>."
CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
_REFUSALS = ("permission denied", "operation not permitted", "requires root", "requires elevated")

Stack = tuple[str, ...]


class _NoNativeFrames(PhotometerError):
    """py-spy unwinds native frames on a few platforms only; Python's it sees everywhere."""


@dataclasses.dataclass(frozen=True)
class SampledStacks:
    """`stacks` with nanoseconds per run, the largest first; a stack's frames are those below the loop's own."""

    stacks: tuple[tuple[Stack, float], ...]
    samples: int
    seconds_per_run: float
    is_native: bool

    @property
    def sample_nanoseconds(self) -> float:
        """The weight of one sample."""
        return self.seconds_per_run * 1e9 / self.samples

    def scaled_to(self, seconds_per_run: float) -> SampledStacks:
        """Return the same shares of a time that is better known."""
        factor = seconds_per_run / self.seconds_per_run
        stacks = tuple((stack, weight * factor) for stack, weight in self.stacks)
        return dataclasses.replace(self, stacks=stacks, seconds_per_run=seconds_per_run)


def find_py_spy() -> str:
    """py-spy beside this interpreter, or on PATH."""
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if found is None:
        raise ToolMissing(
            "py-spy is not installed, so there are no flame graphs", remedy="Install it: pip install py-spy."
        )
    return found


def sample_loop(
    session: Session,
    preparation: Prepare,
    *,
    duration_seconds: float = DEFAULT_DURATION_SECONDS,
    native: bool = True,
    timeout_seconds: float = 120.0,
) -> SampledStacks:
    """Fork a child, prepare it, and let py-spy look while it runs its statement over and over."""
    py_spy = find_py_spy()
    with session.child() as child, private_folder("py-spy") as folder:
        child.ask(dataclasses.replace(preparation, warmup_runs=1), timeout_seconds)
        seconds_per_run = _seconds_per_run(child, timeout_seconds)
        out = folder / "stacks.txt"
        with _spinning(child, duration_seconds + LONGEST_START_SECONDS):
            try:
                _record(py_spy, child.pid, out, duration_seconds, native)
            except _NoNativeFrames:
                native = False
                _record(py_spy, child.pid, out, duration_seconds, native)
        lines = out.read_text(encoding="utf-8", errors="replace").splitlines() if out.exists() else []
    counts = loop_stacks(lines, loop=preparation.symbol or LOOP_FRAME)
    samples = sum(counts.values())
    if not samples:
        raise MeasurementError(
            "py-spy saw nothing of the statement's loop", remedy="Record for longer (--duration), or with --no-native."
        )
    nanoseconds = seconds_per_run * 1e9 / samples
    stacks = tuple((stack, count * nanoseconds) for stack, count in counts.most_common())
    return SampledStacks(stacks, samples, seconds_per_run, native)


def loop_stacks(lines: Iterable[str], loop: str = LOOP_FRAME) -> Counter[Stack]:
    """py-spy's folded stacks, cut to what lies below the loop's frame. What the loop does itself is the empty stack."""
    counts: Counter[Stack] = Counter()
    for line in lines:
        text, _, count = line.rpartition(" ")
        if not count.isdigit():
            continue
        frames = text.split(";")
        # A compiled loop lies in a namespace of its own (instruments/cpp/source.py).
        functions = [frame.split(" (")[0].rpartition("::")[2] for frame in frames]
        places = [place for place, name in enumerate(functions) if name in (loop, f"{loop}{COMPILED_LOOP_END}")]
        if places:
            # The first: a statement that times something itself has another loop of ours further down.
            counts[tuple(_frame_name(frame, loop) for frame in frames[places[0] + 1 :])] += int(count)
    return counts


def _frame_name(frame: str, loop: str) -> str:
    """`_photometer_blocks.<locals>.T.f (<photometer snippet 3>)` is, to its author, `T.f (snippet)`."""
    return _SNIPPET.sub("snippet", frame.replace(_LOCAL, "").replace(f"{loop}{COMPILED_SPACE_END}::", ""))


def _seconds_per_run(child: ChildProcess, timeout_seconds: float) -> float:
    number, seconds = 1, 0.0
    while True:
        seconds = child.ask(Time(number), timeout_seconds).seconds
        if seconds >= TIMING_BLOCK_SECONDS:
            break
        number = max(number * 2, min(WARMUP_RUNS, int(number * TIMING_BLOCK_SECONDS / max(seconds, 1e-9))))
    blocks = [child.ask(Time(number), timeout_seconds).seconds for _ in range(TIMING_BLOCKS)]
    return min([seconds, *blocks]) / number


@contextlib.contextmanager
def _spinning(child: ChildProcess, seconds: float) -> Any:
    """Let the child run its statement while the block lasts. It is killed at its end: who knows when py-spy is done."""
    ended: list[WorkerError] = []

    def spin() -> None:
        try:
            child.ask(Spin(seconds), seconds + LONGEST_START_SECONDS)
        except WorkerError as error:
            ended.append(error)

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        died_before = bool(ended)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        thread.join()
    if died_before:
        raise ended[0]


def _record(py_spy: str, pid: int, out: Path, duration_seconds: float, native: bool) -> None:
    rate = NATIVE_RATE_HZ if native else PYTHON_RATE_HZ
    command = [py_spy, "record", "--pid", str(pid), "--format", "raw", "--output", str(out), "--nolineno"]
    command += ["--duration", str(max(round(duration_seconds), 1)), "--rate", str(rate)]
    command += ["--native"] if native else []
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=duration_seconds + LONGEST_START_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PhotometerError(
            "py-spy did not finish in time", command=command, remedy="Record without native frames: --no-native."
        ) from error
    if done.returncode == 0:
        return
    said = f"{done.stdout}{done.stderr}".strip()
    if any(word in said.lower() for word in _REFUSALS):
        raise ToolRefused(
            "py-spy may not look into another process here, so there are no flame graphs",
            command=command,
            log=said,
            remedy=refusal_remedy(),
        )
    kind = _NoNativeFrames if native and "native" in said.lower() else PhotometerError
    raise kind(
        "py-spy failed",
        command=command,
        exit_status=done.returncode,
        log=said,
        remedy="Try --no-native, or another version of py-spy.",
    )


def refusal_remedy(platform: str = sys.platform, scope_file: Path = Path("/proc/sys/kernel/yama/ptrace_scope")) -> str:
    """Return what lets py-spy in, on this kind of machine."""
    if platform == "darwin":
        return "macOS lets only root look into other processes: run the command with sudo."
    in_container = any(mark.exists() for mark in CONTAINER_MARKS)
    container = "In a container, start it with --cap-add=SYS_PTRACE."
    try:
        scope = int(scope_file.read_text())
    except (OSError, ValueError):
        scope = 0
    if scope and not in_container:
        return f"Run as root, or allow it until the next start: sudo sysctl kernel.yama.ptrace_scope=0. {container}"
    return f"Run as root. {container}"
