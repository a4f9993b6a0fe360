"""measure_ladder: what each rung of overriding costs, from a plan to a Ladder. `photometer run overrides` ends in it.

    ladder = photometer.dispatch_ladder.measure_ladder(materialize(load_suite("overrides")))
    ladder.step("torch.add", "SubTensor").added_seconds

Times come from live comparisons of neighbouring rungs; instruction counts are handed in, as a run has them already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from photometer.analysis.judge import Criteria, judge_replicates
from photometer.analysis.ladder import Ladder, build_ladder, rung_pairs
from photometer.errors import PhotometerError
from photometer.execution.ladder_run import REPLICATES, Climbed, climb, stand_on
from photometer.model.environment import Environment
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.language import Language
from photometer.model.results_reader import Results
from photometer.plan.work_order import WorkOrders

# The judge's default trusts replicates to scatter by about a per cent, as those of two like sides do. Rungs may take 50
# times as long as the one below, and then do not: no such trust, at the price of somewhat wider intervals.
_CRITERIA = Criteria(reference_scale=100.0)


def is_ladder(plan: WorkOrders) -> bool:
    """Whether any of the plan's orders stands on another of them."""
    return any(pair.below is not None for pair in rung_pairs(plan))


def measure_ladder(
    plan: WorkOrders,
    environment: Environment | None = None,
    *,
    instructions: Mapping[str, float] | None = None,
    replicates: int = REPLICATES,
    on_rung: Callable[[str, Climbed], object] = lambda *_: None,
) -> Ladder:
    """`instructions` are per run, by order id. A rung that fails stays in the ladder, without figures."""
    pairs = rung_pairs(plan)
    compared = [
        stand_on(pair.order, pair.below)
        for pair in pairs
        if pair.below is not None and pair.order.args.language is Language.PYTHON
    ]
    climbed = climb(compared, environment, replicates=replicates, on_rung=on_rung)
    verdicts = {
        order_id: judge_replicates(outcome, _CRITERIA, forecast=False)
        for order_id, outcome in climbed.items()
        if not isinstance(outcome, PhotometerError)
    }
    return build_ladder(pairs, verdicts, instructions or {})


def counted_instructions(results: Results) -> dict[str, float]:
    """Instructions per run of every order that a results file has counts of."""
    counts = {}
    for record in results.records:
        order = record.get("order")
        if record["kind"] == "instruction_counts" and isinstance(order, Mapping):
            counts[str(order["id"])] = InstructionCounts.from_json(record).instructions_per_run
    return counts
