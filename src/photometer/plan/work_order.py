"""WorkOrder: one thing to measure, complete in itself, and WorkOrders: all of a suite, with the models they load.

An order crosses process boundaries as JSON. Its id is a hash of its content: the same order has the same id in every
process and in every run, which `--resume` and comparisons rely on. The titles of orders for tables, the tree of their
labels, and the check of a user's seed for random data are here, too. OrderFigures are what else than its time is asked
of an order, as plain values: FLOPs and bytes of one run if the author gave them, the variables to read after a run, and
the statement with a clock between its phases.
"""

from __future__ import annotations

import dataclasses
import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from photometer.definition.asked_figures import NO_FIGURES, Phase
from photometer.definition.grouped import GroupedBenchmark, Label
from photometer.definition.suite import content_hash
from photometer.definition.timer_args import TimerArgs
from photometer.errors import DefinitionError
from photometer.model.order_name import OrderName, title_text
from photometer.model.task import Language
from photometer.plan.auto_labels import AutoLabels, RuntimeMode
from photometer.worker.seeds import LARGEST_SEED


def checked_seed(seed: Any) -> int | None:
    """Return the seed as an int; None if none was chosen. Accept numpy's integers; refuse text and fractions."""
    if seed is None:
        return None
    try:
        number = operator.index(seed)
    except TypeError:
        raise DefinitionError(
            f"seed must be a whole number, not {type(seed).__name__}", remedy="Give an int, such as 1."
        ) from None
    if not 0 <= number <= LARGEST_SEED:
        raise DefinitionError(f"seed {number} is out of range", remedy="Give a whole number from 0 to 2**32 - 1.")
    return number


# The slowest order of the standard suite takes seconds, under Valgrind too; a compiled one may compile for a minute.
DEFAULT_TIMEOUT_SECONDS = 120.0
# One crash or time-out may be caused by the machine; two in a row are caused by the benchmark.
DEFAULT_RETRIES = 1


@dataclasses.dataclass(frozen=True)
class ScriptingJob:
    """The text of a module that makes `jit_model`; execution runs it once, saves the model and fills in its path."""

    id: str
    source: str

    @property
    def placeholder(self) -> str:
        """The text that stands for the file's path in the set-up of the orders that load it."""
        return f"@photometer-model:{self.id}@"

    @classmethod
    def of(cls, source: str) -> ScriptingJob:
        return cls(content_hash(source), source)


@dataclasses.dataclass(frozen=True)
class WorkOrder:
    """The code, its time limit, and how often to retry. `model_id` names the ScriptingJob whose model it loads."""

    ALWAYS: ClassVar[tuple[str, ...]] = ("tags", "model_id", "timeout_seconds", "retries")

    id: str
    label: Label
    auto: AutoLabels
    args: TimerArgs
    tags: tuple[str, ...] = ()
    model_id: str | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    retries: int = DEFAULT_RETRIES
    # The relative change that does not matter in a comparison, if the author said so.
    margin: float | None = None
    # What it fails on there, in the words of --fail-on, if the author said so.
    fail_on: tuple[str, ...] | None = None
    # What else is to be known of it, if anything.
    figures: OrderFigures | None = None
    # Of the first compiled size of a sweep: code that calls it with the others.
    recompile_with: tuple[str, ...] = ()
    # Of a compiled order: the same benchmark without torch.compile, of which it is an overhead.
    eager_args: TimerArgs | None = None
    # Modules that are imported before its set-up runs, once for all forks: its suite's PRELOAD.
    preload: tuple[str, ...] = ()
    # Of its random numbers, if the user chose one; it is not part of the id.
    seed: int | None = None

    @property
    def counts_instructions(self) -> bool:
        """Return whether its instructions are to be counted."""
        # Ranks wait for each other: how often they look is not the statement's.
        return not self.auto.ranks and (self.figures is None or self.figures.instructions)

    @property
    def processors(self) -> int:
        """How many cores it keeps busy: one for each thread of each rank."""
        return self.args.num_threads * max(self.auto.ranks, 1)

    def __iter__(self) -> Iterator[Any]:
        """Yield label, auto labels and timer args: `for label, auto_labels, timer_args in materialize(suite)`."""
        return iter((self.label, self.auto, self.args))

    @property
    def auto_labels(self) -> AutoLabels:
        """Return how this variant differs from the others of its benchmark."""
        return self.auto

    @property
    def timer_args(self) -> TimerArgs:
        """Return the code that is timed."""
        return self.args

    @property
    def title(self) -> str:
        """Label and all auto labels, in one line."""
        return title_text(self.label, [str(value) for value in self.auto.as_dict().values()])

    @property
    def short_title(self) -> str:
        """Return label, language, and the differences from the plainest variant."""
        return title_text(self.label, [self.auto.words()[2], *self.auto.unusual_words()])

    @property
    def name(self) -> OrderName:
        """Return its label and variant in plain words, as its records have them."""
        return self.auto.named(self.label)

    def with_model_path(self, path: str) -> WorkOrder:
        """Return the order with the saved model's file in place of its placeholder."""
        if self.model_id is None:
            return self
        # The path is put into a string literal of either language unchanged.
        if re.search(r'["\\\n]', path):
            raise DefinitionError(
                f"the folder of scripted models has a quote or backslash in its path: {path}",
                remedy="Choose another folder.",
            )
        setup = self.args.setup.replace(f"@photometer-model:{self.model_id}@", path)
        return dataclasses.replace(self, args=dataclasses.replace(self.args, setup=setup, check=False))


@dataclasses.dataclass(frozen=True)
class WorkOrders:
    """The plan of a suite: its work orders in the suite's order, and the models to script first."""

    suite: str
    fingerprint: str
    orders: tuple[WorkOrder, ...]
    scripting_jobs: tuple[ScriptingJob, ...] = ()

    def __iter__(self) -> Iterator[WorkOrder]:
        return iter(self.orders)

    def __len__(self) -> int:
        return len(self.orders)

    def __getitem__(self, place: int) -> WorkOrder:
        return self.orders[place]

    def only(self, orders: tuple[WorkOrder, ...]) -> WorkOrders:
        """Return the plan with some of its orders, and the models that these need."""
        needed = {order.model_id for order in orders}
        jobs = tuple(job for job in self.scripting_jobs if job.id in needed)
        return dataclasses.replace(self, orders=orders, scripting_jobs=jobs)

    def seeded(self, seed: int | None) -> WorkOrders:
        """Return the plan with the user's seed of random numbers in all orders; None leaves it as it is."""
        seed = checked_seed(seed)
        if seed is None:
            return self
        return dataclasses.replace(self, orders=tuple(dataclasses.replace(order, seed=seed) for order in self.orders))


def short_titles(orders: Sequence[WorkOrder]) -> dict[str, str]:
    """Return titles by order id: the label, and the auto labels in which these orders differ.

    Orders whose short titles would be the same keep their full titles.
    """
    columns = [order.auto.as_dict() for order in orders]
    names = list(dict.fromkeys(name for column in columns for name in column))
    differing = [name for name in names if len({column.get(name) for column in columns}) > 1]
    titles = {}
    for order, column in zip(orders, columns, strict=True):
        words = [_word(name, column[name]) for name in differing if name in column]
        titles[order.id] = title_text(order.label, words)
    times = Counter(titles.values())
    return {order.id: titles[order.id] if times[titles[order.id]] == 1 else order.title for order in orders}


def _word(name: str, value: str | int) -> str:
    if name == "num_threads":
        return f"{value} thread{'' if value == 1 else 's'}"
    if name == "ranks":
        return f"{value} rank{'' if value == 1 else 's'}"
    return str(value) if name in ("runtime", "autograd", "language", "device") else f"{name}={value}"


@dataclasses.dataclass(frozen=True)
class TreeNode:
    """A label, the orders with exactly this label, and the labels below it. `photometer list` draws the tree."""

    name: str
    orders: tuple[WorkOrder, ...]
    children: tuple[TreeNode, ...]

    @property
    def variants(self) -> int:
        """The number of work orders here and below."""
        return len(self.orders) + sum(child.variants for child in self.children)


def order_tree(name: str, orders: Iterable[WorkOrder]) -> TreeNode:
    """Return the tree of the orders' labels, in the order in which they first appear."""
    return _node(name, [(order.label, order) for order in orders])


def _node(name: str, below: list[tuple[Label, WorkOrder]]) -> TreeNode:
    here: list[WorkOrder] = []
    groups: dict[str, list[tuple[Label, WorkOrder]]] = {}
    for path, order in below:
        if path:
            groups.setdefault(path[0], []).append((path[1:], order))
        else:
            here.append(order)
    return TreeNode(name, tuple(here), tuple(_node(label, group) for label, group in groups.items()))


# The statement of phases reads this clock; the set-up before it makes it.
CLOCK = "photometer_clock"


@dataclasses.dataclass(frozen=True)
class OrderFigures:
    """`phase_stmt` leaves the clock's readings in the variables `marks`: one more than there are phases."""

    flops: float | None = None
    bytes: float | None = None
    metrics: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    phase_stmt: str = ""
    instructions: bool = True
    # The collective that one run is, if the author said so: its bandwidth on the bus follows from `bytes`.
    collective: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(f"photometer_mark_{number}" for number in range(len(self.phases) + 1))


def order_figures(benchmark: GroupedBenchmark, auto: AutoLabels) -> OrderFigures | None:
    """Return the figures to read of the variant; None if there are none. C++ has no variables that could be read."""
    asked = benchmark.figures
    if asked == NO_FIGURES:
        return None
    # A compiled or scripted step is one piece: its phases cannot be separated, nor its variables read.
    eager = auto.language is Language.PYTHON and auto.runtime is RuntimeMode.EAGER
    metrics = asked.metrics if eager else ()
    phases = asked.phases if eager else ()
    return OrderFigures(
        flops=asked.amount_at("flops", auto.sizes),
        bytes=asked.amount_at("bytes", auto.sizes),
        metrics=metrics,
        phases=tuple(phase.name for phase in phases),
        phase_stmt=_marked(phases),
        instructions=asked.instructions,
        collective=asked.collective or "",
    )


def phase_setup(synchronize: str = "") -> str:
    """Return the line that makes the clock of phases. `synchronize` is code that waits for an accelerator."""
    lines = ["import time as photometer_time", f"def {CLOCK}():"]
    lines += [f"    {synchronize}"] if synchronize else []
    return "\n".join([*lines, "    return photometer_time.perf_counter()"])


def _marked(phases: tuple[Phase, ...]) -> str:
    if not phases:
        return ""
    lines = [f"photometer_mark_0 = {CLOCK}()"]
    for number, phase in enumerate(phases, start=1):
        lines += [phase.stmt, f"photometer_mark_{number} = {CLOCK}()"]
    return "\n".join(lines)
