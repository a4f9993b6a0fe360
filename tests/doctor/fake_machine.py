"""Files of /proc and /sys of a made-up machine, below a folder."""

from __future__ import annotations

from pathlib import Path

from photometer.doctor.processor import SystemFiles


def fake_machine(root: Path, files: dict[str, str]) -> SystemFiles:
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return SystemFiles(root)


def cores(count: int, *, siblings: int = 1, governor: str | None = None) -> dict[str, str]:
    """Return the files of so many logical processors, `siblings` to a core."""
    files = {}
    for number in range(count):
        folder = f"/sys/devices/system/cpu/cpu{number}"
        first = number - number % siblings
        together = ",".join(str(each) for each in range(first, first + siblings))
        files[f"{folder}/topology/thread_siblings_list"] = together + "\n"
        if governor is not None:
            files[f"{folder}/cpufreq/scaling_governor"] = governor + "\n"
    return files


def proc_stat(*busy_and_idle: tuple[int, int], stolen: int = 0) -> str:
    """Return /proc/stat of cores that were so many ticks busy and idle; each has lost `stolen` ticks."""
    lines = [f"cpu{n} {busy} 0 0 {idle} 0 0 0 {stolen} 0 0" for n, (busy, idle) in enumerate(busy_and_idle)]
    return "\n".join(["cpu  0 0 0 0 0 0 0 0 0 0", *lines]) + "\n"
