"""Findings about the kernel and the container: memory layout, pages, swap, limits, and what tools may do."""

from __future__ import annotations

import re

from photometer.doctor.finding import Finding, State
from photometer.doctor.system_files import SystemFiles
from photometer.instruments.processor_instructions import perf_refusal
from photometer.session.layout import freezing

HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
# A server under Valgrind with torch takes about one, a compiler of torch's headers 1.5.
LEAST_FREE_GIB = 3.0
GIB = 2**30


def kernel_findings(files: SystemFiles) -> list[Finding]:
    found = (_randomisation(), _huge_pages(files), _memory(files), _swap(files), _quota(files), _perf(files))
    return [finding for finding in found if finding is not None]


def _randomisation() -> Finding:
    refused = freezing().refused_because
    if refused is None:
        return Finding("address layout", State.GOOD, "randomisation can be turned off for what is measured")
    return Finding(
        "address layout",
        State.MEND,
        refused,
        "Times then differ by some per cent from process to process. In Docker: --security-opt seccomp=unconfined.",
    )


def _huge_pages(files: SystemFiles) -> Finding | None:
    chosen = re.search(r"\[(\w+)\]", files.read(HUGE_PAGES) or "")
    if chosen is None:
        return None
    return Finding("huge pages", State.GOOD, f"{chosen.group(1)}; turned off for what photometer measures")


def _memory(files: SystemFiles) -> Finding | None:
    available = files.field("/proc/meminfo", "MemAvailable")
    if available is None:
        return None
    free = available * 1024 / GIB
    limit, used = files.number("/sys/fs/cgroup/memory.max"), files.number("/sys/fs/cgroup/memory.current")
    within = ""
    if limit is not None and used is not None:
        free, within = min(free, max(limit - used, 0) / GIB), f", limited to {limit / GIB:.1f} GiB here"
    state = State.GOOD if free >= LEAST_FREE_GIB else State.MEND
    advice = "" if state is State.GOOD else "Counting and compiling take 1 to 1.5 GiB each: free some."
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
    """Judge a limit of CPU time: the kernel then stops all threads for the rest of every period, some 0.1 s."""
    limit = _quota_cores(files)
    if limit is None:
        return None
    throttled = files.field("/sys/fs/cgroup/cpu.stat", "nr_throttled") or 0
    stopped = f"; stopped {throttled:,} times so far" if throttled else ""
    return Finding(
        "container limits",
        State.MEND,
        f"{limit:g} cores' worth of time per period{stopped}",
        "The kernel pauses what exceeds it, in the midst of a run. Give the container cores instead: --cpuset-cpus.",
    )


def _quota_cores(files: SystemFiles) -> float | None:
    words = (files.read("/sys/fs/cgroup/cpu.max") or "").split()
    if len(words) == 2 and words[0].isdigit():
        return int(words[0]) / int(words[1])
    folder = "/sys/fs/cgroup/cpu"
    quota, period = files.number(f"{folder}/cpu.cfs_quota_us"), files.number(f"{folder}/cpu.cfs_period_us")
    return quota / period if quota is not None and period and quota > 0 else None


def _perf(files: SystemFiles) -> Finding:
    level = files.read("/proc/sys/kernel/perf_event_paranoid")
    shown = "" if level is None else f" (perf_event_paranoid {level})"
    refused = perf_refusal()
    if refused is None:
        return Finding("perf counters", State.GOOD, f"the processor's counter of instructions works{shown}")
    return Finding("perf counters", State.NOTE, f"not usable{shown}", refused)
