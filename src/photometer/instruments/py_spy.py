"""py-spy on a spinning child: the stacks of a statement's own loop, with native frames, without imports and set-up.

In: a session and what its child prepares. Out: SampledStacks, whose weights are nanoseconds per run: the share of
samples times the time of a run, which is measured before py-spy attaches and slows the child down.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from photometer.errors import MeasurementError, PhotometerError, ToolMissing, ToolRefused, WorkerError
from photometer.instruments.replicate import WARMUP_RUNS
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.programs import run_program
from photometer.session.child_process import ChildProcess
from photometer.session.left_behind import private_folder
from photometer.session.session import ServerKind, Session
from photometer.worker.messages import Prepare, Spin, Time

DEFAULT_DURATION_SECONDS = 3.0
# Unwinding native frames takes py-spy some milliseconds per sample, and it falls behind above this.
NATIVE_RATE_HZ = 200
PYTHON_RATE_HZ = 1000
# Reading the symbols of torch's libraries (about 500 MB) takes py-spy seconds before its first sample; more if busy.
LONGEST_START_SECONDS = 180.0
# The time of a run is the fastest of a few blocks: a flame graph shows shares, not fine differences.
TIMING_BLOCKS = 20
TIMING_BLOCK_SECONDS = 0.005

# The frame of the loop around the user's statement (worker/python_loop.py); a compiled one has its symbol instead.
LOOP_FRAME = "_photometer_blocks"
COMPILED_LOOP_END = "_kept_blocks"
COMPILED_SPACE_END = "_space"
_SNIPPET = re.compile(r"<photometer snippet \d+>")
_LOCAL = f"{LOOP_FRAME}.<locals>."
CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
_REFUSALS = ("permission denied", "operation not permitted", "requires root", "requires elevated")

Stack = tuple[str, ...]


class _NoNativeFrames(PhotometerError):
    """py-spy cannot unwind native frames on this platform; it always sees Python's frames."""


@dataclasses.dataclass(frozen=True)
class SampledStacks:
    """`stacks` with nanoseconds per run, largest first; a stack has the frames below the loop's own."""

    stacks: tuple[tuple[Stack, float], ...]
    samples: int
    seconds_per_run: float
    is_native: bool

    @property
    def sample_nanoseconds(self) -> float:
        """Return the weight of one sample."""
        return self.seconds_per_run * 1e9 / self.samples

    def scaled_to(self, seconds_per_run: float) -> SampledStacks:
        """Return the same shares of a time that is known more precisely."""
        factor = seconds_per_run / self.seconds_per_run
        stacks = tuple((stack, weight * factor) for stack, weight in self.stacks)
        return dataclasses.replace(self, stacks=stacks, seconds_per_run=seconds_per_run)


def find_py_spy() -> str:
    """Return the path of py-spy, beside this interpreter or on the PATH."""
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if found is None:
        raise ToolMissing("flame graphs need py-spy, which is not installed", remedy="Install it: pip install py-spy.")
    return found


def sample_loop(
    session: Session,
    preparation: Prepare,
    *,
    duration_seconds: float = DEFAULT_DURATION_SECONDS,
    native: bool = True,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> SampledStacks:
    """Fork a child, prepare it, and sample it with py-spy while it runs its statement repeatedly."""
    py_spy = find_py_spy()
    kind = ServerKind().importing(preparation)
    with session.child(kind) as child, private_folder("py-spy") as folder:
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
            "py-spy did not see the statement's loop", remedy="Record for longer (--duration), or with --no-native."
        )
    nanoseconds = seconds_per_run * 1e9 / samples
    stacks = tuple((stack, count * nanoseconds) for stack, count in counts.most_common())
    return SampledStacks(stacks, samples, seconds_per_run, native)


def loop_stacks(lines: Iterable[str], loop: str = LOOP_FRAME) -> Counter[Stack]:
    """Return py-spy's folded stacks below the loop's frame. The loop's own time is the empty stack."""
    counts: Counter[Stack] = Counter()
    for line in lines:
        text, _, count = line.rpartition(" ")
        if not count.isdigit():
            continue
        frames = text.split(";")
        # A compiled loop is in its own namespace (instruments/cpp/source.py).
        functions = [frame.split(" (")[0].rpartition("::")[2] for frame in frames]
        places = [place for place, name in enumerate(functions) if name in (loop, f"{loop}{COMPILED_LOOP_END}")]
        if places:
            # The first one: a statement that itself times something has another of our loops further down.
            counts[tuple(_frame_name(frame, loop) for frame in frames[places[0] + 1 :])] += int(count)
    return counts


def _frame_name(frame: str, loop: str) -> str:
    """Return a frame as its author knows it: `T.f (snippet)` for `_photometer_blocks.<locals>.T.f (<…snippet 3>)`."""
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
    """Let the child run its statement during the block, then kill it: only then is py-spy certainly done."""
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
        done = run_program(command, duration_seconds + LONGEST_START_SECONDS)
    except TimeoutError as error:
        raise PhotometerError(
            "py-spy did not finish in time", command=command, remedy="Record without native frames: --no-native."
        ) from error
    if done.returncode == 0:
        return
    printed = f"{done.stdout}{done.stderr}".strip()
    if any(word in printed.lower() for word in _REFUSALS):
        raise ToolRefused(
            "flame graphs need py-spy, which is not allowed to inspect other processes here",
            command=command,
            log=printed,
            remedy=refusal_remedy(),
        )
    kind = _NoNativeFrames if native and "native" in printed.lower() else PhotometerError
    raise kind(
        "py-spy failed",
        command=command,
        exit_status=done.returncode,
        log=printed,
        remedy="Try --no-native, or another version of py-spy.",
    )


def refusal_remedy(platform: str = sys.platform, scope_file: Path = Path("/proc/sys/kernel/yama/ptrace_scope")) -> str:
    """Return how to allow py-spy to inspect processes on this kind of machine."""
    if platform == "darwin":
        return "On macOS only root may inspect other processes: run the command with sudo."
    in_container = any(mark.exists() for mark in CONTAINER_MARKS)
    container = "In a container, start it with --cap-add=SYS_PTRACE."
    try:
        scope = int(scope_file.read_text())
    except (OSError, ValueError):
        scope = 0
    if scope and not in_container:
        return f"Run as root, or allow it until the next reboot: sudo sysctl kernel.yama.ptrace_scope=0. {container}"
    return f"Run as root. {container}"
