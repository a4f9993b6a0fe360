"""Gate: whether a comparison may pass, by the rules of --fail-on, of pyproject.toml and of the suite.

In: an EnvironmentComparison (or a MatrixComparison) and rules. Out: a GateVerdict: breaches that are not
accepted, breaches that are, and the outcome behind the exit status. Nothing here prints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Set

from photometer.analysis.cause import InstructionChange
from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison, Outcome
from photometer.analysis.matrix_result import MatrixComparison
from photometer.analysis.memory_change import MemoryChange
from photometer.analysis.verdict import Verdict
from photometer.analysis.verdict_reason import percent
from photometer.ci.project import Threshold, rules_for
from photometer.model.fail_rules import WATCHED, FailRule, parse_rules
from photometer.model.memory_measurement import format_bytes
from photometer.plan.work_order import WorkOrder

SLOWER = FailRule("slower")
NO_ORDERS: Mapping[str, WorkOrder] = {}


@dataclasses.dataclass(frozen=True)
class Breach:
    """A rule that a benchmark breaks, as written by the user, and a sentence that says by how much."""

    order_id: str
    title: str
    rule: str
    sentence: str


@dataclasses.dataclass(frozen=True)
class GateVerdict:
    """`accepted` are breaches that the author accepts. `unjudged` says which rules could not be applied at all."""

    outcome: Outcome
    breaches: tuple[Breach, ...] = ()
    accepted: tuple[Breach, ...] = ()
    unjudged: tuple[str, ...] = ()

    def of(self, order_id: str) -> tuple[Breach, ...]:
        return tuple(breach for breach in self.breaches if breach.order_id == order_id)


@dataclasses.dataclass(frozen=True)
class Gate:
    """The rules for all benchmarks, and those for some of them. Without rules, only failures fail.

    `is_open` is `--fail-on never`: the rules of the project and of the suite are ignored.
    """

    rules: tuple[FailRule, ...] = (SLOWER,)
    thresholds: tuple[Threshold, ...] = ()
    measured: Set[str] = frozenset(WATCHED)
    is_open: bool = False

    def rules_of(self, title: str, order: WorkOrder | None) -> tuple[FailRule, ...]:
        if self.is_open:
            return ()
        if order is None:
            return rules_for(self.rules, self.thresholds, title, ())
        own = None if order.fail_on is None else _only(parse_rules(order.fail_on), self.measured)
        return rules_for(self.rules, self.thresholds, title, order.tags, own)

    def only(self, measured: Set[str]) -> Gate:
        """Return the gate without rules about what is not measured."""
        return Gate(
            _only(self.rules, measured) or (),
            tuple(dataclasses.replace(each, rules=_only(each.rules, measured)) for each in self.thresholds),
            measured,
            self.is_open,
        )

    def judge(self, comparison: EnvironmentComparison, orders: Mapping[str, WorkOrder] = NO_ORDERS) -> GateVerdict:
        """Judge a comparison of two sides. The orders, by id, carry the suite's tags and rules."""
        breaches: list[Breach] = []
        accepted: list[Breach] = []
        rules = {each.order_id: self.rules_of(each.title, orders.get(each.order_id)) for each in comparison.results}
        for result in comparison.by_importance:
            found = list(_breaches(result, rules[result.order_id]))
            (accepted if result.accepted else breaches).extend(found)
        unjudged = tuple(_unjudged(comparison, {rule for each in rules.values() for rule in each}))
        if any(breach.rule != "undecided" for breach in breaches):
            outcome: Outcome = "slower"
        elif comparison.failures or unjudged:
            outcome = "failed"
        elif not comparison.results and not comparison.not_reached:
            outcome = "nothing"
        elif breaches or (comparison.not_reached and any(rule.watched == "undecided" for rule in self.rules)):
            outcome = "undecided"
        else:
            outcome = "fine"
        return GateVerdict(outcome, tuple(breaches), tuple(accepted), unjudged)

    def judge_matrix(self, matrix: MatrixComparison, orders: Mapping[str, WorkOrder] = NO_ORDERS) -> GateVerdict:
        """Judge many sides, each against the first."""
        breaches = []
        missing = False
        for row in matrix.by_importance:
            rules = self.rules_of(row.title, orders.get(row.order_id))
            for cell in row.cells:
                missing |= cell.judged is None and any(rule.watched == "undecided" for rule in rules)
                for rule in rules:
                    # If undecided fails, slower fails, too.
                    applied = SLOWER if rule.watched == "undecided" and cell.verdict == "slower" else rule
                    sentence = "" if cell.judged is None else _breach(cell.judged, cell.instructions, applied)
                    if sentence:
                        side = matrix.names[cell.side]
                        breaches.append(Breach(row.order_id, row.title, str(applied), f"{side}: {sentence}"))
        if any(breach.rule != "undecided" for breach in breaches):
            outcome: Outcome = "slower"
        elif any(row.has_failed for row in matrix.rows):
            outcome = "failed"
        elif not any(row.cells for row in matrix.rows):
            outcome = "nothing"
        else:
            outcome = "undecided" if breaches or missing else "fine"
        return GateVerdict(outcome, tuple(breaches))


def _only(rules: tuple[FailRule, ...] | None, measured: Set[str]) -> tuple[FailRule, ...] | None:
    if not rules:
        return rules
    # None if no rule is left: an empty tuple would mean that nothing fails.
    return tuple(rule for rule in rules if rule.watched in measured) or None


def _breaches(result: ComparisonResult, rules: tuple[FailRule, ...]) -> Iterator[Breach]:
    for rule in rules:
        if rule.watched == "memory":
            sentence = _memory_breach(result.memory, rule)
        else:
            sentence = _breach(result.judged, result.instructions, rule)
        if sentence:
            yield Breach(result.order_id, result.title, str(rule), sentence)
    # If undecided fails, slower fails, too.
    watched = {rule.watched for rule in rules}
    if "undecided" in watched and "slower" not in watched and result.verdict == "slower":
        yield Breach(result.order_id, result.title, "slower", _breach(result.judged, None, SLOWER))


def _breach(verdict: Verdict, change: InstructionChange | None, rule: FailRule) -> str:
    """Return how a rule about time or instructions is broken; empty if it is not."""
    beyond = f", more than the {rule.allowed} allowed" if rule.allowed else ""
    if rule.watched == "slower" and verdict.verdict == "slower" and _is_beyond(verdict.ratio, rule):
        return f"slower by {percent(verdict.ratio - 1.0)}{beyond}"
    if rule.watched == "undecided" and verdict.verdict == "undecided":
        return "undecided"
    if rule.watched != "instructions" or change is None or not change.has_changed or change.ratio - 1.0 <= rule.share:
        return ""
    return f"{percent(change.ratio - 1.0)} more instructions{beyond}"


def _is_beyond(ratio: float, rule: FailRule) -> bool:
    return not rule.share or ratio - 1.0 > rule.share


def _memory_breach(memory: MemoryChange | None, rule: FailRule) -> str:
    """Return how much more memory is used than allowed; empty if it is not. If mixed, the largest growth counts."""
    if memory is None or memory.verdict not in ("more", "mixed"):
        return ""
    base, branch = memory.base, memory.branch
    figures = (
        ("peak", base.peak_bytes, branch.peak_bytes),
        ("allocated", base.allocated_bytes, branch.allocated_bytes),
        ("kept", base.kept_bytes, branch.kept_bytes),
    )
    grown = [(after - before, before, name) for name, before, after in figures if after > before]
    if not grown:
        # The same bytes in more blocks: a breach only if any growth fails.
        return memory.sentence if memory.verdict == "more" and not rule.allowed else ""
    size, before, name = max(grown)
    limit = rule.size_bytes or rule.share * before
    if size <= limit:
        return ""
    beyond = f", more than the {rule.allowed} allowed" if rule.allowed else ""
    return f"{format_bytes(size)} more {'memory at its peak' if name == 'peak' else f'memory {name}'}{beyond}"


def _unjudged(comparison: EnvironmentComparison, rules: set[FailRule]) -> Iterator[str]:
    """Yield rules for which nothing was measured: a gate must not pass because Valgrind is missing."""
    for rule in sorted(rules, key=str):
        if rule.watched == "instructions" and all(each.instructions is None for each in comparison.results):
            yield f"{rule}: no instructions were counted"
        if rule.watched == "memory" and all(each.memory is None for each in comparison.results):
            yield f"{rule}: no memory was measured"
