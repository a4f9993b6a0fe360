"""The instruments that `photometer run` can use, in the order in which an order is measured by them.

To add one, add its declaration here. What runs first can hinder what comes after it: an order is timed before it runs
under Valgrind, so that what crashes or hangs does so once.
"""

from __future__ import annotations

from collections.abc import Mapping

from photometer.instruments.callgrind.compile_counts import COMPILE_COUNTS
from photometer.instruments.callgrind.count_order import INSTRUCTIONS
from photometer.instruments.callgrind.simulated_caches import SIMULATED_CACHES
from photometer.instruments.cold_caches import COLD_CACHES
from photometer.instruments.compile_report import COMPILE_REPORT
from photometer.instruments.declaration import Instrument, Option
from photometer.instruments.device.energy import ENERGY
from photometer.instruments.device.in_child import DEVICE_MODES
from photometer.instruments.ladder import LADDER
from photometer.instruments.memory import MEMORY
from photometer.instruments.observed import METRICS, PHASES
from photometer.instruments.ranks import RANKS
from photometer.instruments.speedup import SPEEDUP
from photometer.instruments.visit import WALL_TIME
from photometer.instruments.work import PEAK, WORK

INSTRUMENTS: tuple[Instrument, ...] = (
    COMPILE_REPORT,
    WALL_TIME,
    LADDER,
    SPEEDUP,
    DEVICE_MODES,
    RANKS,
    PHASES,
    ENERGY,
    WORK,
    PEAK,
    METRICS,
    MEMORY,
    INSTRUCTIONS,
    SIMULATED_CACHES,
    COMPILE_COUNTS,
    COLD_CACHES,
)

BY_NAME: Mapping[str, Instrument] = {each.name: each for each in INSTRUMENTS}
BY_KIND: Mapping[str, Instrument] = {each.kind: each for each in INSTRUMENTS}


def options() -> tuple[Option, ...]:
    """Return the options that switch instruments on, each once."""
    return tuple(dict.fromkeys(each.option for each in INSTRUMENTS if each.option is not None))


def asked_for(chosen: Mapping[str, bool]) -> tuple[Instrument, ...]:
    """Return the instruments that options switch on; `chosen` has those that differ from their default."""
    return tuple(each for each in INSTRUMENTS if each.is_asked(chosen))


def compared_exactly() -> tuple[Instrument, ...]:
    """Return the instruments whose exact figures a comparison takes once on every side, if an option asks for them.

    Instructions and memory have stages and verdicts of their own.
    """
    return tuple(
        each for each in INSTRUMENTS if each.is_exact and each.option is not None and each not in (INSTRUCTIONS, MEMORY)
    )
