"""Collect the facts about this machine and its software in a `Machine`, by reading files; nothing is changed.

torch is described only if the program has already imported it: saving a result must not import it. A fact that cannot
be determined is None.
"""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import os
import platform
import re
import sys
from pathlib import Path

from photometer.errors import EnvironmentSpecError
from photometer.git import git_text
from photometer.model.machine import Machine, TorchBuild

GIT_TIMEOUT_SECONDS = 5.0
# Torch's compiler flags that affect speed; dozens of others only concern warnings.
_SPEED_FLAG = re.compile(r"-(O\w*|g|march=\S+|mtune=\S+|m(avx|sse|fma)\S*|flto\S*|fsanitize=\S+|DNDEBUG|DDEBUG)$")


def gather_machine(folder: Path | None = None) -> Machine:
    """Return the current facts. The git commit is that of `folder`, by default the working directory."""
    commit, is_dirty, unknown_because = git_commit(folder or Path.cwd())
    return Machine(
        cpu_model=_cpu_model(),
        logical_cores=os.cpu_count(),
        usable_cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        memory_bytes=_memory_bytes(),
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        hypervisor=_hypervisor(),
        stolen_share=stolen_share(_read("/proc/stat")),
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        torch=_torch_build(),
        photometer=_photometer_version(),
        commit=commit,
        commit_is_dirty=is_dirty,
        commit_unknown_because=unknown_because,
        date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    )


def git_commit(folder: Path) -> tuple[str | None, bool | None, str | None]:
    """Return the commit checked out in `folder`, whether tracked files differ from it, and why neither is known."""
    try:
        commit = git_text(folder, "rev-parse", "HEAD", seconds=GIT_TIMEOUT_SECONDS)
        changed = git_text(folder, "status", "--porcelain", "--untracked-files=no", seconds=GIT_TIMEOUT_SECONDS)
    except EnvironmentSpecError as error:
        said = (error.log or "").strip().splitlines()
        ended = f"git ended with status {error.exit_status}"
        return None, None, error.message if error.exit_status is None else said[-1] if said else ended
    return commit, bool(changed), None


def stolen_share(proc_stat: str | None) -> float | None:
    """Return the share of CPU time since boot that the hypervisor gave to others, from the text of /proc/stat."""
    fields = proc_stat.split("\n", 1)[0].split() if proc_stat else []
    if len(fields) < 9 or fields[0] != "cpu":
        return None
    # Guest time (the fields after steal) is already included in user time.
    ticks = [int(field) for field in fields[1:9]]
    return round(ticks[7] / sum(ticks), 6) if sum(ticks) else None


def short_flags(config: str) -> str | None:
    """Return the flags that affect speed from the text of torch.__config__.show()."""
    found = re.search(r"CXX_FLAGS=(.*?)(, [A-Z_]+=|$)", config, re.DOTALL)
    if found is None:
        return None
    return " ".join(flag for flag in found.group(1).split() if _SPEED_FLAG.match(flag))


def _torch_build() -> TorchBuild | None:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "version"):
        return None
    config = torch.__config__.show() if hasattr(torch, "__config__") else ""
    capability = re.search(r"CPU capability usage: (\S+)", config)
    return TorchBuild(
        version=str(torch.__version__),
        git_version=torch.version.git_version,
        debug=bool(torch.version.debug),
        cuda=torch.version.cuda,
        hip=torch.version.hip,
        cpu_capability=capability.group(1) if capability else None,
        cxx_flags=short_flags(config),
    )


@functools.cache
def _cpu_model() -> str | None:
    found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", _read("/proc/cpuinfo") or "", re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or None


def _memory_bytes() -> int | None:
    found = re.search(r"^MemTotal:\s*(\d+) kB", _read("/proc/meminfo") or "", re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


def _hypervisor() -> str | None:
    named = _read("/sys/hypervisor/type") or _read("/sys/class/dmi/id/sys_vendor")
    flags = re.search(r"^flags\s*:(.*)$", _read("/proc/cpuinfo") or "", re.MULTILINE)
    is_virtual = flags is not None and "hypervisor" in flags.group(1).split()
    if not is_virtual:
        return None
    return named or "yes, of unknown make"


def _photometer_version() -> str | None:
    try:
        return importlib.metadata.version("photometer")
    except importlib.metadata.PackageNotFoundError:
        return None


def _read(path: str) -> str | None:
    """Return the text of a file in /proc or /sys, or None if it is missing, unreadable or empty."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
