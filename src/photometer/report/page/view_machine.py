"""MachineView: the machine and software of a measurement, and how it was disturbed, in words.

In: the machine facts of a results file, and the conditions of its measurements. Out: names with values, and a sentence.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.model.diagnosis import Conditions
from photometer.model.machine import Machine
from photometer.model.units import GIB


@dataclasses.dataclass(frozen=True)
class MachineView:
    """`name` is the file's; `facts` are pairs for a list of definitions; `disturbances` is a sentence or empty."""

    name: str
    facts: tuple[tuple[str, str], ...]
    disturbances: str = ""
    summary: str = ""


def machine_view(
    name: str,
    machine: Machine | None,
    conditions: Sequence[Conditions],
    header: Mapping[str, Any] | None = None,
    devices: Sequence[str] = (),
) -> MachineView:
    facts = () if machine is None else _facts(machine)
    facts = (*facts, *([("Devices", ", ".join(devices))] if devices else []))
    short = [
        f"{key} {value}" if key in ("torch", "Python") else value
        for key in ("Processor", "Devices", "torch", "Python", "Date")
        if (value := dict(facts).get(key))
    ]
    return MachineView(name, (*sides_of(header or {}), *facts), disturbances_of(machine, conditions), " · ".join(short))


def sides_of(header: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return base and branch of a comparison, as the header describes them."""
    about = header.get("comparison")
    if not isinstance(about, Mapping):
        return ()
    return tuple((side.capitalize(), _side_text(about[side])) for side in ("base", "branch") if about.get(side))


def _side_text(side: object) -> str:
    if not isinstance(side, Mapping):
        return str(side)
    commit = f", commit {str(side['commit'])[:10]}" if side.get("commit") else ""
    return f"{side.get('spec') or side.get('python') or 'unknown'}{commit}"


def _facts(machine: Machine) -> tuple[tuple[str, str], ...]:
    torch = machine.torch
    cores = machine.logical_cores
    usable = machine.usable_cores
    cores_text = None if cores is None else f"{cores}" + (f", {usable} usable" if usable not in (None, cores) else "")
    memory = None if machine.memory_bytes is None else f"{machine.memory_bytes / GIB:.3g} GiB"
    commit = None
    if machine.commit is not None:
        commit = machine.commit[:10] + (" with changes" if machine.commit_is_dirty else "")
    build = None
    if torch is not None and torch.version is not None:
        accelerator = f", CUDA {torch.cuda}" if torch.cuda else f", ROCm {torch.hip}" if torch.hip else ""
        capability = f", {torch.cpu_capability}" if torch.cpu_capability else ""
        build = f"{torch.version}{accelerator}{capability}" + (", debug build" if torch.debug else "")
    named = (
        ("Processor", machine.cpu_model),
        ("Cores", cores_text),
        ("Memory", memory),
        ("Governor", machine.governor),
        ("Hypervisor", machine.hypervisor),
        ("Kernel", machine.kernel),
        ("torch", build),
        ("Python", machine.python),
        ("photometer", machine.photometer),
        ("Commit", commit),
        ("Date", _date(machine.date)),
    )
    return tuple((name, value) for name, value in named if value)


def _date(date: str | None) -> str | None:
    """Return the date to the minute: a run takes minutes anyway."""
    try:
        parsed = datetime.datetime.fromisoformat(date or "")
    except ValueError:
        return date
    zone = "UTC" if parsed.utcoffset() == datetime.timedelta(0) else parsed.strftime("%z")
    return f"{parsed:%Y-%m-%d %H:%M} {zone}".strip()


def disturbances_of(machine: Machine | None, conditions: Sequence[Conditions]) -> str:
    """Return one sentence on what the instruments noticed; no judgement, which the warnings of the run already are."""
    stolen = None if machine is None else machine.stolen_share
    wall = sum(c.wall_seconds for c in conditions if c.wall_seconds and c.cpu_seconds is not None)
    cpu = sum(c.cpu_seconds for c in conditions if c.wall_seconds and c.cpu_seconds is not None)
    set_aside = sum(c.preempted_blocks or 0 for c in conditions)
    parts = []
    waited = max(1 - cpu / wall, 0.0) if wall else None
    if waited is not None:
        parts.append(f"the benchmarks were off their core for {waited * 100:.1f} % of the time")
    if set_aside:
        parts.append(f"{set_aside:,} interrupted block{'s were' if set_aside > 1 else ' was'} set aside")
    if stolen:
        parts.append(f"the hypervisor took {stolen * 100:.1f} %")
    if not parts:
        return ""
    return f"While they were measured, {', '.join(parts)}."
