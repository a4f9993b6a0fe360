"""Findings about the processor: its cores and their threads, its clock, virtual machines and containers, other users.

SystemFiles are the files of /proc and /sys as text, below a root, so that tests can show another machine.
"""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from photometer.doctor.finding import Finding, State
from photometer.instruments.noise_watch import Ticks, busy_share, read_ticks, stolen_share
from photometer.model.units import percent
from photometer.session.cores import usable_cores


@dataclasses.dataclass(frozen=True)
class SystemFiles:
    root: Path = Path("/")

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str | None:
        """Return the text of a file without the spaces around it, or None if it is missing, unreadable or empty."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace").strip() or None
        except OSError:
            return None

    def number(self, name: str) -> int | None:
        text = self.read(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def field(self, name: str, key: str) -> int | None:
        """Return the number after `key` in a file of lines such as `MemTotal:  16 kB` or `pswpin 3`."""
        for line in (self.read(name) or "").splitlines():
            words = line.replace(":", " ").split()
            if len(words) > 1 and words[0] == key and words[1].isdigit():
                return int(words[1])
        return None

    def cpu_folders(self) -> Iterator[Path]:
        """Yield the folder of each logical processor, by its number."""
        folders = self.path("/sys/devices/system/cpu").glob("cpu[0-9]*")
        yield from sorted((f for f in folders if f.name[3:].isdigit()), key=lambda folder: int(folder.name[3:]))


GOVERNOR_FILE = "cpufreq/scaling_governor"
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
BOOST = "/sys/devices/system/cpu/cpufreq/boost"
# Others on a core for more than this share of the time widen every interval.
BUSY_SHARE = 0.10
# A hypervisor that takes more than this gives times that depend on the neighbours.
STOLEN_SHARE = 0.01
MOST_PROCESSES_NAMED = 3


def processor_findings(files: SystemFiles, allowed: Sequence[int]) -> list[Finding]:
    return [
        _cores(files, allowed),
        _governor(files),
        *(finding for finding in (_turbo(files), _virtual(files)) if finding is not None),
    ]


def _cores(files: SystemFiles, allowed: Sequence[int]) -> Finding:
    there = [int(folder.name[3:]) for folder in files.cpu_folders()] or list(allowed)
    physical = usable_cores(topology=files.path("/sys/devices/system/cpu")) if allowed else ()
    cores = "1 core" if len(physical) == 1 else f"{len(physical)} cores"
    limited = f", of {len(there)} processors" if len(there) > len(allowed) else ""
    if len(allowed) > len(physical):
        return Finding(
            "cores",
            State.NOTE,
            f"{cores} with {len(allowed)} hardware threads{limited}",
            "Threads of one core slow each other down. Photometer times on one per core; keep other work off both.",
        )
    if len(physical) == 1:
        return Finding(
            "cores", State.NOTE, cores + limited, "All other work shares it: times will scatter. Use two or more."
        )
    return Finding("cores", State.GOOD, f"{cores}, one hardware thread each{limited}")


def governors(files: SystemFiles) -> dict[str, str]:
    """Return the governor of each logical processor that has one, by the path of its file."""
    found = {}
    for folder in files.cpu_folders():
        name = "/" + str((folder / GOVERNOR_FILE).relative_to(files.root))
        governor = files.read(name)
        if governor is not None:
            found[name] = governor
    return found


def _governor(files: SystemFiles) -> Finding:
    names = Counter(governors(files).values())
    if not names:
        return Finding(
            "governor", State.NOTE, "not visible here", "The host controls the clock; the noise test shows the effect."
        )
    shown = ", ".join(f"{name} on {count}" for name, count in names.most_common())
    if set(names) == {"performance"}:
        return Finding("governor", State.GOOD, shown)
    return Finding("governor", State.FIX, shown, "The clock follows the load. As root: photometer doctor --tune.")


def _turbo(files: SystemFiles) -> Finding | None:
    no_turbo, boost = files.number(NO_TURBO), files.number(BOOST)
    if no_turbo is None and boost is None:
        return None
    if no_turbo == 0 or boost == 1:
        off = f"echo 1 | sudo tee {NO_TURBO}" if no_turbo is not None else f"echo 0 | sudo tee {BOOST}"
        advice = f"The clock depends on heat and on how many cores work. Steadier, and slower: {off}."
        return Finding("turbo", State.NOTE, "on", advice)
    return Finding("turbo", State.GOOD, "off")


def _virtual(files: SystemFiles) -> Finding | None:
    flags = next((line for line in (files.read("/proc/cpuinfo") or "").splitlines() if line.startswith("flags")), "")
    if "hypervisor" not in flags.split():
        return None
    maker = files.read("/sys/class/dmi/id/sys_vendor")
    return Finding(
        "virtual machine",
        State.NOTE,
        maker or "yes",
        "Other guests of the host change its speed. Compare side by side (ab, compare), not with runs of other days.",
    )


@dataclasses.dataclass(frozen=True)
class Look:
    """The machine's activity between two moments: ticks of its cores, seconds of CPU time of its processes."""

    cores: Mapping[int, Ticks]
    processes: Mapping[int, int]

    @classmethod
    def now(cls, files: SystemFiles) -> Look:
        return cls(read_ticks(files.path("/proc/stat")), _process_ticks(files))


def neighbour_findings(before: Look, after: Look, files: SystemFiles) -> list[Finding]:
    """Judge the other users of the cores between two looks, during which this process slept."""
    first, last = dict(before.cores), dict(after.cores)
    shares = {core: share for core in last if (share := busy_share(first, last, core)) is not None}
    busiest = max(shares.values(), default=None)
    findings = []
    if busiest is None:
        findings.append(Finding("neighbours", State.NOTE, "not visible here"))
    elif busiest > BUSY_SHARE:
        busy = sum(share > BUSY_SHARE for share in shares.values())
        which = "a core is" if busy == 1 else f"{busy} cores are"
        names = _busiest_processes(before, after, files)
        by = f": {', '.join(names)}" if names else ""
        fact = f"{which} busy with other work, up to {percent(busiest)} of the time{by}"
        findings.append(Finding("neighbours", State.FIX, fact, "Stop it, or wait until it has finished."))
    else:
        findings.append(Finding("neighbours", State.GOOD, f"other work took at most {percent(busiest)} of a core"))
    stolen = stolen_share(first, last)
    if stolen is not None:
        bad = stolen > STOLEN_SHARE
        advice = "The host is overbooked: use a machine with cores of its own." if bad else ""
        state = State.FIX if bad else State.GOOD
        findings.append(Finding("steal time", state, f"{percent(stolen)} of the cores' time just now", advice))
    return findings


def _process_ticks(files: SystemFiles) -> dict[int, int]:
    """Return the CPU time of each process in clock ticks; those that end while we look are left out."""
    ticks = {}
    for folder in files.path("/proc").glob("[0-9]*"):
        text = files.read(f"/proc/{folder.name}/stat")
        # The name is in parentheses and may hold anything, parentheses too.
        fields = text.rpartition(")")[2].split() if text else []
        if folder.name.isdigit() and len(fields) > 12:
            ticks[int(folder.name)] = int(fields[11]) + int(fields[12])
    return ticks


def _busiest_processes(before: Look, after: Look, files: SystemFiles) -> list[str]:
    used = {
        pid: ticks - before.processes.get(pid, 0)
        for pid, ticks in after.processes.items()
        if pid != os.getpid() and ticks > before.processes.get(pid, 0)
    }
    most = sorted(used, key=lambda pid: used[pid], reverse=True)[:MOST_PROCESSES_NAMED]
    return [f"{files.read(f'/proc/{pid}/comm') or 'a process'} (process {pid})" for pid in most]
