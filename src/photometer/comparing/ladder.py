"""measure_ladder: what each rung of overriding costs over the rung below it. `photometer run overrides` uses it.

    ladder = measure_ladder(materialize(load_suite("overrides")), session)
    ladder.step("torch.add", "SubTensor").added_seconds

Every rung is measured live beside the one below, so that the difference is known far better than either time.
Instruction counts are passed in, because a run already has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from photometer.analysis.judge import Criteria
from photometer.analysis.ladder import Ladder, build_ladder, rung_pairs
from photometer.analysis.verdict import Verdict
from photometer.comparing.fork_sampler import Contestants, ForkSampler
from photometer.comparing.verdict_loop import verdicts_to_precision
from photometer.errors import PhotometerError
from photometer.instruments.replicate import Side
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.records import from_record
from photometer.model.results_reader import Results
from photometer.model.task import Language
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.session import Session
from photometer.worker.messages import Prepare

# The judge's default assumes that replicates scatter by about a per cent, as with two similar sides. A rung may take 50
# times as long as the one below, and scatter more: do not assume it, at the price of somewhat wider intervals.
_CRITERIA = Criteria(reference_scale=100.0)
# With eight replicates of a tenth of a second the interval is about half a per cent either way.
PRECISION = 0.005
MOST_REPLICATES = 8
REPLICATE_SECONDS = 0.1

OnRung = Callable[[str, str | None], object]
"""The title of a rung, and the problem if it could not be measured."""


def is_ladder(plan: WorkOrders) -> bool:
    """Return whether any of the plan's orders is a rung above another one."""
    return any(pair.below is not None for pair in rung_pairs(plan))


def measure_ladder(
    plan: WorkOrders,
    session: Session,
    *,
    instructions: Mapping[str, float] | None = None,
    most_replicates: int = MOST_REPLICATES,
    on_rung: OnRung = lambda *_: None,
) -> Ladder:
    """Measure all rungs. `instructions` are per run, by order id. A rung that fails is kept without figures."""
    pairs = rung_pairs(plan)
    rungs = [
        (pair.order, pair.below)
        for pair in pairs
        if pair.below is not None and pair.order.args.language is Language.PYTHON
    ]
    verdicts: dict[str, Verdict] = {}
    for order, below in rungs:
        sampler = ForkSampler([_contestants(session, order, below)], seconds=REPLICATE_SECONDS)
        try:
            (verdicts[order.id],) = verdicts_to_precision(
                sampler,
                1,
                _CRITERIA,
                precision=PRECISION,
                most_replicates=most_replicates,
            )
        except PhotometerError as error:
            on_rung(order.title, error.message)
            continue
        on_rung(order.title, None)
    return build_ladder(pairs, verdicts, instructions or {})


def _contestants(session: Session, order: WorkOrder, below: WorkOrder) -> Contestants:
    """Return the lower rung as the first side."""
    sides = [
        Side(session, Prepare(each.args.stmt, each.args.setup, num_threads=each.args.num_threads, seed=each.seed))
        for each in (below, order)
    ]
    return Contestants(tuple(sides), order.timeout_seconds)


def counted_instructions(results: Results) -> dict[str, float]:
    """Return the instructions per run, outside the allocator, of every counted order in a results file."""
    counts = {}
    for record in results.records:
        order = record.get("order")
        if record["kind"] == "instruction_counts" and isinstance(order, Mapping):
            counts[str(order["id"])] = from_record(InstructionCounts, record).outside_allocator_per_run
    return counts
