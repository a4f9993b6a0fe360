"""Step: one unit of work for a plan, or for one order of it: a build, a model, a probe, or the work of an instrument.

A step is its name, so that it can be sent to another machine; the instrument's declaration says the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from photometer.errors import DefinitionError
from photometer.instruments.declaration import Beside, Instrument
from photometer.instruments.registry import BY_KIND, BY_NAME, INSTRUMENTS
from photometer.model.order_name import order_id_of
from photometer.model.results_format import SKIPPED
from photometer.plan.work_order import WorkOrder

# What is no measurement, and what it takes before one of its kind has finished: see Instrument.first_guess_seconds.
_CHORES = {"script": 0.5, "build": 60.0, "probe": 0.3}
_FIRST_TIMING = next(i for i, each in enumerate(INSTRUMENTS) if each.beside is Beside.OTHER_CORES)
_EARLY = frozenset({"build", "script", *(each.name for each in INSTRUMENTS[:_FIRST_TIMING])})


@dataclasses.dataclass(frozen=True)
class Step:
    name: str

    def __post_init__(self) -> None:
        if self.name not in _CHORES and self.name not in BY_NAME:
            raise DefinitionError(f"there is no step {self.name!r}", remedy=f"Known are {', '.join(BY_NAME)}.")

    @property
    def instrument(self) -> Instrument | None:
        return BY_NAME.get(self.name)

    @property
    def _beside(self) -> Beside:
        return Beside.ANYTHING if self.instrument is None else self.instrument.beside

    @property
    def is_quiet(self) -> bool:
        """Whether nothing else may run on the same cores at the same time."""
        return self._beside is Beside.OTHER_CORES

    @property
    def is_alone(self) -> bool:
        """Whether nothing else may run at all at the same time; it then comes last."""
        return self._beside is Beside.NOTHING

    @property
    def is_early(self) -> bool:
        """Whether timings wait for it."""
        return self.name in _EARLY

    @property
    def counts(self) -> bool:
        """Whether it is done under Valgrind."""
        return self.instrument is not None and self.instrument.under_valgrind

    @property
    def is_result(self) -> bool:
        """Whether it is a result of an order, and so counts as progress."""
        return self.name not in ("build", "script")

    @property
    def ends_order(self) -> bool:
        """Whether an order whose step fails is given up; otherwise its other steps go on."""
        return self.instrument is None or self.instrument.ends_order

    @property
    def first_guess_seconds(self) -> float:
        return _CHORES[self.name] if self.instrument is None else self.instrument.first_guess_seconds

    def applies(self, order: WorkOrder, options: Mapping[str, bool]) -> bool:
        return self.instrument is None or self.instrument.applies(order, options)


# In place of a step: the order was given up.
GIVEN_UP = "given up"
SCRIPT, BUILD, PROBE = Step("script"), Step("build"), Step("probe")
TIME, COUNT = Step("time"), Step("count")


def finished_steps(records: Iterable[Mapping[str, object]]) -> set[tuple[str, str]]:
    """Return the steps in a results file, by order. What ended its order counts for all steps, and as GIVEN_UP."""
    finished = set()
    for record in records:
        order, kind = record.get("order"), str(record["kind"])
        if not isinstance(order, Mapping):
            continue
        names = [BY_KIND[kind].name] if kind in BY_KIND else []
        if kind == "failure":
            failed = BY_NAME.get(str(record.get("step")))
            names = [GIVEN_UP, *BY_NAME] if failed is None or failed.ends_order else [failed.name]
        if kind == SKIPPED:
            names = [GIVEN_UP, *BY_NAME]
        finished |= {(order_id_of(record), name) for name in names}
    return finished
