"""Instrument: all that the rest of photometer knows about a way to measure, declared once, beside what does it.

    MEMORY = Instrument(
        name="memory",
        doing="measuring memory",
        record=MemoryMeasurement,
        measure=lambda session, asked: take_memory(session, asked.ready, asked.cores),
        figures=(Figure("peak_memory", "bytes", of=lambda use: use.peak_bytes, exact=True), …),
        option=Option("memory", "Measure what one run allocates: peak, bytes, number of blocks."),
    )

The scheduler's step, the options of the command, columns of tables, metrics of the store and, if its figures are exact,
a stage of a comparison follow from it. `registry.py` lists the declarations.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from photometer.instruments.callgrind.python_frames import FramedSide
    from photometer.instruments.ready_order import ReadyOrder
    from photometer.plan.work_order import WorkOrder, WorkOrders
    from photometer.session.session import Session

# torch's default for blocked_autorange.
DEFAULT_MIN_RUN_TIME = 0.2
# They start from one state and are equal; the second shows a statement that draws something at random.
DEFAULT_REPEATS = 2


class Beside(enum.Enum):
    """Which other work may run while an instrument measures."""

    ANYTHING = "anything"
    """Its figures do not depend on load."""
    OTHER_CORES = "other cores"
    """It has its cores to itself; on a small machine, the machine."""
    NOTHING = "nothing"
    """It would disturb what runs on other cores, or be disturbed: it waits until all else is done."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request to an instrument: an order, on which cores, for how long, how often.

    A timing is one visit of several: `min_run_time` is its share, `layout_seed` its memory layout, `seed` that of its
    data, and `runs_per_block` the choice of the first visit, or 0 to choose it. `seconds_per_run` is known if the order
    has been timed before.
    """

    ready: ReadyOrder
    min_run_time: float = DEFAULT_MIN_RUN_TIME
    repeats: int = DEFAULT_REPEATS
    cores: tuple[int, ...] = ()
    layout_seed: int = 0
    runs_per_block: int = 0
    seed: int | None = None
    seconds_per_run: float | None = None
    # The orders that it is measured against, in the same moments.
    against: tuple[ReadyOrder, ...] = ()
    # The options of the run that differ from their default.
    options: Mapping[str, bool] = dataclasses.field(default_factory=dict)

    @property
    def order(self) -> WorkOrder:
        return self.ready.order


@dataclasses.dataclass(frozen=True)
class Figure:
    """One number of a record, per run.

    `of` returns it, or None if the record does not have it. `name` is its name in files and in the store, `head` the
    head of its column, `meaning` its explanation. `interval` returns the ends of its interval; without it they are the
    figure itself.
    """

    name: str
    unit: str
    of: Callable[[Any], float | None]
    exact: bool
    head: str = ""
    meaning: str = ""
    worse: Literal["more", "less", ""] = "more"
    interval: Callable[[Any], tuple[float, float]] | None = None
    # In a comparison of an exact figure: the share, and the number, by which it may differ because two builds lie in
    # memory differently.
    tolerance: float = 0.0
    least: float = 0.0
    # Whether a change has a verdict of its own there; otherwise it may only explain a change of time.
    own_verdict: bool = False

    def bounds(self, record: Any) -> tuple[float, float]:
        value = self.of(record)
        assert value is not None
        return (value, value) if self.interval is None else self.interval(record)


@dataclasses.dataclass(frozen=True)
class Option:
    """The option of the command that switches an instrument on: `--memory`, or `--wall/--no-wall` if it is on."""

    name: str
    help: str
    default: bool = False

    @property
    def declaration(self) -> str:
        flag = f"--{self.name.replace('_', '-')}"
        return f"{flag}/--no-{flag[2:]}" if self.default else flag


@dataclasses.dataclass(frozen=True)
class Instrument:
    """`name` is that of its step, in failures too; `doing` is what failed then: "measuring memory".

    `measure` returns the noun of its record, or the record itself. `needs` are options without which it does not run.
    """

    name: str
    doing: str
    # The noun of its record; a record's kind says whose it is.
    record: type[Any]
    measure: Callable[[Session, Asked], Any]
    figures: tuple[Figure, ...] = ()
    option: Option | None = None
    needs: tuple[str, ...] = ()
    # Whether it says anything about this order, if it is asked for; the second argument is as that of `is_asked`.
    applies: Callable[[WorkOrder, Mapping[str, bool]], bool] = lambda order, options: True
    # If an order is measured against others of its plan, in the same moments: those of each order, by its id. It comes
    # when they have been timed, and not for orders that have none.
    against: Callable[[WorkOrders], Mapping[str, tuple[WorkOrder, ...]]] | None = None
    beside: Beside = Beside.ANYTHING
    # Whether its servers run under Valgrind: each takes a gigabyte and 15 s to start.
    under_valgrind: bool = False
    # Whether an order that fails at it is given up; otherwise its other steps go on.
    ends_order: bool = False
    # What it takes before one of its kind has finished: seconds on a quiet machine with two cores.
    first_guess_seconds: float = 1.0
    # The title of a table of its figures, with notes below it; without a title they have their place elsewhere.
    title: str = ""
    notes: tuple[str, ...] = ()
    # What a reader must know of one record, in a sentence; empty if there is nothing.
    remark: Callable[[Any], str] = lambda record: ""
    # Of one figure, the call stacks of a run with the user's functions in them: they show where a change is.
    stacks: Callable[[Session, Asked, Figure], FramedSide] | None = None

    @property
    def kind(self) -> str:
        return str(self.record.KIND)

    def is_asked(self, options: Mapping[str, bool]) -> bool:
        """Return whether the options switch it on; `options` has those that differ from their default."""
        wanted = [] if self.option is None else [options.get(self.option.name, self.option.default)]
        return all([*wanted, *(options.get(name, True) for name in self.needs)])

    @property
    def is_exact(self) -> bool:
        """Whether all its figures are exact, so that a comparison needs it only once per side."""
        return bool(self.figures) and all(figure.exact for figure in self.figures)
