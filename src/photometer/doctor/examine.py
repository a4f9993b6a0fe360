"""examine: all findings about this machine, and the noise test. quick_look: one line about it for `run` and `compare`.

In: nothing but the machine. Out: an Examination. `quick_look` takes a quarter of a second. A process of its own imports
torch and reports its build and number of threads as JSON.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from photometer.doctor.finding import Examination, Finding, State
from photometer.doctor.gpu import find_gpus, gpu_findings
from photometer.doctor.noise_test import DEFAULT_SECONDS, NoiseTest, Work, take_noise_test
from photometer.doctor.processor import Look, SystemFiles, neighbour_findings, processor_findings
from photometer.errors import ToolMissing
from photometer.instruments.cpp.compiler import find_compiler
from photometer.instruments.cpp.snippet import CppOptions
from photometer.instruments.processor_instructions import perf_refusal
from photometer.instruments.py_spy import find_py_spy, refusal_remedy
from photometer.model.code_folder import cache_root
from photometer.model.units import GIB, percent
from photometer.programs import run_program
from photometer.session.control_group import memory_limit, processor_limit
from photometer.session.cores import allowed_cores, usable_cores
from photometer.session.layout import freezing
from photometer.session.valgrind import find_valgrind
from photometer.worker.accelerators import device_names, open_device

COMMAND = (sys.executable, "-m", "photometer.doctor.examine")
# Importing torch from a cold disk takes long.
IMPORT_SECONDS = 120.0
_INSTALL = "Install it: pip install torch."


@dataclasses.dataclass(frozen=True)
class TorchReport:
    version: str
    debug: bool
    config: str
    num_threads: int
    accelerators: tuple[str, ...] = ()


def torch_findings(cores: int) -> list[Finding]:
    if importlib.util.find_spec("torch") is None:
        return [Finding("torch", State.FIX, f"not installed for {sys.executable}", _INSTALL)]
    try:
        done = run_program(COMMAND, IMPORT_SECONDS)
    except TimeoutError:
        return [
            Finding("torch", State.FIX, f"took longer than {IMPORT_SECONDS:g} s to import", "Check the disk it is on.")
        ]
    if done.returncode != 0:
        cause = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [Finding("torch", State.FIX, f"cannot be imported: {cause}", "Install it again.")]
    report = json.loads(done.stdout.strip().splitlines()[-1])
    return judge_torch(TorchReport(**{**report, "accelerators": tuple(report["accelerators"])}), cores)


def judge_torch(report: TorchReport, cores: int) -> list[Finding]:
    capability = re.search(r"CPU capability usage: (\S+)", report.config)
    words = [report.version, *([f"uses {capability.group(1)}"] if capability else []), *report.accelerators]
    if report.debug:
        build = Finding("torch", State.FIX, f"{words[0]}, a debug build", "Use a release build: assertions take time.")
    else:
        build = Finding("torch", State.GOOD, ", ".join(words))
    threads = "1 thread" if report.num_threads == 1 else f"{report.num_threads} threads"
    if report.num_threads > cores:
        advice = (
            f"They share {cores} cores. Set OMP_NUM_THREADS={cores}. Photometer sets the number for each benchmark."
        )
        return [build, Finding("torch's threads", State.NOTE, f"{threads} by default", advice)]
    return [build, Finding("torch's threads", State.GOOD, f"{threads} by default; benchmarks have 1 unless they ask")]


def main() -> None:
    """Run the far side: report torch's build as JSON."""
    torch: Any = importlib.import_module("torch")
    names = [open_device(torch, name).name for name in device_names(torch) if ":" in name]
    report = TorchReport(
        version=str(torch.__version__),
        debug=bool(torch.version.debug),
        config=torch.__config__.show(),
        num_threads=torch.get_num_threads(),
        accelerators=tuple(names),
    )
    sys.stdout.write(json.dumps(dataclasses.asdict(report)) + "\n")


if __name__ == "__main__":
    main()


LOOK_SECONDS = 1.0
QUICK_LOOK_SECONDS = 0.25
# Below this share of visits in the best state, two runs differ by more than a few per cent in many figures.
BEST_SHARE_WANTED = 0.95
BEST_SHARE_NEEDED = 0.75
_PAIRED = "ab and compare measure side by side, which cancels most of it."


def examine(
    *,
    noise_seconds: float = DEFAULT_SECONDS,
    files: SystemFiles | None = None,
    on_noise: Callable[[float], object] = lambda _: None,
) -> Examination:
    """Examine everything. Without seconds for it there is no noise test."""
    files = files or SystemFiles()
    # The neighbours first: what we start ourselves is no neighbour.
    neighbours = look_for_neighbours(files, LOOK_SECONDS)
    findings = [*processor_findings(files, allowed_cores()), *neighbours]
    noise = take_noise_test(usable_cores(), noise_seconds, on_visit=on_noise) if noise_seconds > 0 else None
    if noise is not None:
        findings += noise_findings(noise)
    findings += kernel_findings(files)
    findings += tool_findings()
    findings += torch_findings(len(usable_cores()))
    findings += gpu_findings(files, find_gpus())
    return Examination(tuple(findings), noise)


def quick_look(files: SystemFiles | None = None) -> Examination:
    """Return findings that concern times and are quick to get; call it before anything of ours runs."""
    files = files or SystemFiles()
    neighbours = look_for_neighbours(files, QUICK_LOOK_SECONDS)
    return Examination((*processor_findings(files, allowed_cores()), *neighbours, *kernel_findings(files)))


def look_for_neighbours(files: SystemFiles, seconds: float) -> list[Finding]:
    before = Look.now(files)
    time.sleep(seconds)
    return neighbour_findings(before, Look.now(files), files)


def noise_findings(noise: NoiseTest) -> list[Finding]:
    findings = []
    for work in Work:
        share, interrupted = noise.best_share(work), noise.interrupted_share(work)
        slow = [f"{percent(state.slowdown - 1)} slower for {percent(state.share)}" for state in noise.states(work)[1:4]]
        fact = f"at its best speed for {percent(share)} of the time" + (f"; {', '.join(slow)} of it" if slow else "")
        fact += f"; {percent(interrupted)} of the blocks interrupted"
        state = State.GOOD if share >= BEST_SHARE_WANTED else State.NOTE
        state = State.FIX if share < BEST_SHARE_NEEDED else state
        advice = "" if state is State.GOOD else f"Stop other work, or use a quieter machine. {_PAIRED}"
        findings.append(Finding(f"noise ({work.value})", state, fact, advice))
    return findings


def summary_line(examination: Examination) -> str:
    """Return one line for the start of a run: what is wrong with the machine, and which command explains it."""
    problems = examination.problems()
    if not problems:
        known = [f.fact for f in examination.findings if f.topic in ("cores", "neighbours")]
        return f"machine: {'; '.join(known)}. No problems found."
    more = f" and {len(problems) - 2} more" if len(problems) > 2 else ""
    named = "; ".join(f"{finding.topic}: {finding.fact}" for finding in problems[:2])
    return f"machine: {named}{more}. `photometer doctor` says what to do."


HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
# A server under Valgrind with torch takes about one, a compiler of torch's headers 1.5.
LEAST_FREE_MEMORY_GIB = 3.0


def kernel_findings(files: SystemFiles) -> list[Finding]:
    found = (_randomisation(), _huge_pages(files), _memory(files), _swap(files), _quota(files), _perf(files))
    return [finding for finding in found if finding is not None]


def _randomisation() -> Finding:
    refused = freezing().refused_because
    if refused is None:
        return Finding("address layout", State.GOOD, "randomisation can be turned off for measured processes")
    return Finding(
        "address layout",
        State.FIX,
        refused,
        "Times then differ by some per cent from process to process. In Docker: --security-opt seccomp=unconfined.",
    )


def _huge_pages(files: SystemFiles) -> Finding | None:
    chosen = re.search(r"\[(\w+)\]", files.read(HUGE_PAGES) or "")
    if chosen is None:
        return None
    return Finding("huge pages", State.GOOD, f"{chosen.group(1)}; turned off for measured processes")


def _memory(files: SystemFiles) -> Finding | None:
    available = files.field("/proc/meminfo", "MemAvailable")
    if available is None:
        return None
    free = available * 1024 / GIB
    limit = memory_limit(files.root)
    within = ""
    if limit is not None:
        free, within = min(free, limit.free_bytes / GIB), f", limited to {limit.limit_bytes / GIB:.1f} GiB here"
    state = State.GOOD if free >= LEAST_FREE_MEMORY_GIB else State.FIX
    advice = "" if state is State.GOOD else "Counting and compiling take 1 to 1.5 GiB each: free some memory."
    return Finding("memory", state, f"{free:.1f} GiB free{within}", advice)


def _swap(files: SystemFiles) -> Finding | None:
    total, free = files.field("/proc/meminfo", "SwapTotal"), files.field("/proc/meminfo", "SwapFree")
    if total is None or free is None:
        return None
    if total == 0:
        return Finding("swap", State.GOOD, "none")
    used = (total - free) / 1024**2
    if used < 0.1:
        return Finding("swap", State.GOOD, "not in use")
    return Finding(
        "swap", State.NOTE, f"{used:.1f} GiB in use", "Pages that come back from disk delay a run. Free some memory."
    )


def _quota(files: SystemFiles) -> Finding | None:
    """Judge a limit of CPU time, by which the kernel stops all threads for the rest of every period, about 0.1 s."""
    limit = processor_limit(files.root)
    if limit is None:
        return None
    stopped = f"; stopped {limit.times_stopped:,} times so far" if limit.times_stopped else ""
    return Finding(
        "container limits",
        State.FIX,
        f"{limit.cores:g} cores' worth of time per period{stopped}",
        "The kernel pauses what exceeds it, even within a run. Give the container cores instead: --cpuset-cpus.",
    )


def _perf(files: SystemFiles) -> Finding:
    level = files.read("/proc/sys/kernel/perf_event_paranoid")
    shown = "" if level is None else f" (perf_event_paranoid {level})"
    refused = perf_refusal()
    if refused is None:
        return Finding("perf counters", State.GOOD, f"the processor's counter of instructions works{shown}")
    return Finding("perf counters", State.NOTE, f"not usable{shown}", refused)


PY_SPY_SECONDS = 20.0
# Scripted models, compiled snippets, counts and a checkout: a GiB or so in daily use.
LEAST_FREE_DISK_GIB = 2.0


def tool_findings() -> list[Finding]:
    return [_valgrind(), _compiler(), _py_spy(), _disk()]


def _valgrind() -> Finding:
    try:
        valgrind = find_valgrind()
    except ToolMissing as missing:
        return Finding("Valgrind", State.FIX, missing.message, missing.remedy or "")
    return Finding("Valgrind", State.GOOD, f"{valgrind.version_string} ({valgrind.path})")


def _compiler() -> Finding:
    try:
        # What it finds out about the compiler is remembered there; a doctor writes nothing.
        with tempfile.TemporaryDirectory() as folder:
            compiler = find_compiler(CppOptions(), Path(folder))
    except ToolMissing as missing:
        return Finding("C++ compiler", State.FIX, missing.message, missing.remedy or "")
    return Finding("C++ compiler", State.GOOD, compiler.identity)


def _py_spy() -> Finding:
    """Try py-spy on this process: capabilities, Yama and seccomp together decide whether it may inspect it."""
    try:
        program = find_py_spy()
    except ToolMissing as missing:
        return Finding("py-spy", State.FIX, missing.message, missing.remedy or "")
    command = [program, "dump", "--pid", str(os.getpid())]
    try:
        tried = run_program(command, PY_SPY_SECONDS)
    except OSError as error:
        return Finding("py-spy", State.FIX, f"does not run: {error}", "Install it again: pip install py-spy.")
    if tried.returncode == 0:
        return Finding("py-spy", State.GOOD, "may look into processes (ptrace)")
    return Finding("py-spy", State.FIX, "may not look into other processes (ptrace)", refusal_remedy())


def _disk() -> Finding:
    places = {"the cache": _existing(cache_root()), "temporary files": Path(tempfile.gettempdir())}
    free = {name: shutil.disk_usage(place).free / GIB for name, place in places.items()}
    shown = ", ".join(f"{gib:.1f} GiB for {name}" for name, gib in free.items())
    if min(free.values()) >= LEAST_FREE_DISK_GIB:
        return Finding("free disk", State.GOOD, shown)
    advice = "Free some: `photometer cache` shows what photometer keeps. PHOTOMETER_CACHE and TMPDIR name other places."
    return Finding("free disk", State.FIX, shown, advice)


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())
