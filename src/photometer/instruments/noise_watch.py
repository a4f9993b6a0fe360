"""NoiseWatch: watch the machine during a measurement, and first wait briefly for the measuring core to be free.

In: the core that measures. Out: a MachineNoise. Everything is read from /proc and /sys; nothing is changed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

from photometer.model.machine import MachineNoise

# If others use the core for a larger share of the time, it is worth waiting: replicates scatter three times as much.
BUSY_SHARE = 0.25
LOOK_SECONDS = 0.25
# A compiler or a test in the background may end within this time; whether to wait longer is up to the user.
MOST_WAIT_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Ticks:
    """The activity of one core since boot, in clock ticks."""

    busy: int
    idle: int
    stolen: int


def others_busy(seconds: float = LOOK_SECONDS, sleep: Callable[[float], None] = time.sleep) -> float | None:
    """Return the share of time in which others use the busiest core. Call it before anything of ours runs."""
    before = read_ticks()
    sleep(seconds)
    after = read_ticks()
    shares = [share for core in after if (share := busy_share(before, after, core)) is not None]
    return round(max(shares), 4) if shares else None


class NoiseWatch:
    """Create one before measuring, call `look` regularly, and `noise` at the end."""

    def __init__(self, core: int | None, *, read: Callable[[], dict[int, Ticks]] | None = None) -> None:
        self._core = core
        self._read = read or read_ticks
        self._waited_seconds = 0.0
        self._megahertz: list[float] = []
        self._start = self._read()

    def wait_for_quiet(
        self, most_seconds: float = MOST_WAIT_SECONDS, sleep: Callable[[float], None] = time.sleep
    ) -> float:
        """Wait until no other process uses the core, at most `most_seconds`. Return the seconds waited."""
        while self._waited_seconds < most_seconds:
            before = self._read()
            sleep(LOOK_SECONDS)
            self._waited_seconds += LOOK_SECONDS
            share = busy_share(before, self._read(), self._core)
            if share is None or share <= BUSY_SHARE:
                break
        self._start = self._read()
        return self._waited_seconds

    def look(self) -> None:
        megahertz = _megahertz(self._core)
        if megahertz is not None:
            self._megahertz.append(megahertz)

    def noise(self) -> MachineNoise:
        end = self._read()
        # The measuring core is busy with the measurement itself; other processes show on the other cores.
        others = [busy_share(self._start, end, core) for core in end if core != self._core]
        known = [share for share in others if share is not None]
        return MachineNoise(
            others_busy_share=round(max(known), 4) if known else None,
            stolen_share=stolen_share(self._start, end),
            lowest_megahertz=min(self._megahertz, default=None),
            highest_megahertz=max(self._megahertz, default=None),
            waited_seconds=self._waited_seconds,
        )


def busy_share(before: dict[int, Ticks], after: dict[int, Ticks], core: int | None) -> float | None:
    """Return the share of the time between two readings in which a core was busy; None if it is unknown."""
    if core is None or core not in before or core not in after:
        return None
    busy = after[core].busy - before[core].busy
    whole = busy + after[core].idle - before[core].idle
    return busy / whole if whole > 0 else None


def stolen_share(before: dict[int, Ticks], after: dict[int, Ticks]) -> float | None:
    """Return the share of all cores' time that the hypervisor gave to others."""
    stolen = sum(after[core].stolen - before[core].stolen for core in after if core in before)
    whole = sum(
        after[core].busy + after[core].idle - before[core].busy - before[core].idle for core in after if core in before
    )
    return round(stolen / whole, 4) if whole > 0 else None


def read_ticks(stat: Path = Path("/proc/stat")) -> dict[int, Ticks]:
    try:
        text = stat.read_text()
    except OSError:
        return {}
    ticks = {}
    for line in text.splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name != "cpu" and len(fields) >= 8:
            user, nice, system, idle, waiting, interrupts, soft, stolen = map(int, fields[:8])
            ticks[int(name[3:])] = Ticks(user + nice + system + interrupts + soft + stolen, idle + waiting, stolen)
    return ticks


def _megahertz(core: int | None) -> float | None:
    try:
        text = Path(f"/sys/devices/system/cpu/cpu{core or 0}/cpufreq/scaling_cur_freq").read_text()
        return int(text) / 1000.0
    except (OSError, ValueError):  # unknown in a virtual machine
        return None
