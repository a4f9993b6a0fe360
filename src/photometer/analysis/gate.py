"""Gate: whether results may pass, by the rules of --fail-on, of pyproject.toml and of the suite.

In: a comparison, or reports of compilations, and rules. Out: a GateVerdict: breaches that are not accepted, breaches
that are, and the outcome behind the exit status. Every command that can fail by a rule asks this one. Nothing prints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Set

from photometer.analysis.cause import InstructionChange
from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison, Outcome
from photometer.analysis.figure_change import FigureChange, MemoryChange, changed_by_themselves
from photometer.analysis.verdict import Verdict
from photometer.model.compile_report import CompileReport
from photometer.model.fail_rules import COMPILE_WORDS, WATCHED, FailRule, Watched, parse_rules
from photometer.model.units import change, format_bytes, percent, span
from photometer.plan.selection import names_benchmark
from photometer.plan.work_order import WorkOrder

SLOWER = FailRule("slower")
UNDECIDED = FailRule("undecided")
NO_ORDERS: Mapping[str, WorkOrder] = {}


@dataclasses.dataclass(frozen=True)
class Breach:
    """A rule that a benchmark breaks, as written by the user, and a sentence that says by how much.

    `side` is the position of the side that breaks it.
    """

    order_id: str
    title: str
    rule: str
    sentence: str
    side: int = 1


@dataclasses.dataclass(frozen=True)
class GateVerdict:
    """The result of a gate.

    `accepted` are breaches that the author accepts. `unjudged` says which rules could not be applied at all.
    `not_known` are benchmarks that may or may not break a rule, because their intervals include the allowed value. They
    fail only if `undecided` does, and are then among the breaches.
    """

    outcome: Outcome
    breaches: tuple[Breach, ...] = ()
    accepted: tuple[Breach, ...] = ()
    unjudged: tuple[str, ...] = ()
    not_known: tuple[Breach, ...] = ()

    def of(self, order_id: str, side: int = 1) -> tuple[Breach, ...]:
        return tuple(breach for breach in self.breaches if (breach.order_id, breach.side) == (order_id, side))

    def of_side(self, side: int) -> GateVerdict:
        """Return the part about one side, as if it were the only one besides the reference."""
        mine, accepted, not_known = (
            tuple(dataclasses.replace(breach, side=1) for breach in breaches if breach.side == side)
            for breaches in (self.breaches, self.accepted, self.not_known)
        )
        return dataclasses.replace(self, breaches=mine, accepted=accepted, not_known=not_known)


@dataclasses.dataclass(frozen=True)
class Threshold:
    """Settings for benchmarks with a tag or a name. `rules`: None keeps the general ones; empty means never fail."""

    benchmark: str = ""
    tag: str = ""
    margin: float | None = None
    rules: tuple[FailRule, ...] | None = None

    def applies_to(self, title: str, tags: tuple[str, ...]) -> bool:
        return self.tag in tags if self.tag else names_benchmark(self.benchmark, title)


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

    def allowed_slowdown(self, title: str, order: WorkOrder | None) -> float | None:
        """Return the share by which a benchmark may be slower, if the rules need nothing else of its time."""
        rules = {rule.watched: rule for rule in self.rules_of(title, order)}
        share = rules["slower"].share if "slower" in rules else 0.0
        needs_more = "probable" in rules and rules["probable"].share not in (0.0, share)
        return share if share and not needs_more else None

    def only(self, measured: Set[str]) -> Gate:
        """Return the gate without rules about figures that are not measured."""
        return Gate(
            _only(self.rules, measured) or (),
            tuple(dataclasses.replace(each, rules=_only(each.rules, measured)) for each in self.thresholds),
            measured,
            self.is_open,
        )

    def judge(self, comparison: EnvironmentComparison, orders: Mapping[str, WorkOrder] = NO_ORDERS) -> GateVerdict:
        """Judge every side against the first. The orders, by id, carry the suite's tags and rules."""
        breaches: list[Breach] = []
        accepted: list[Breach] = []
        not_known: list[Breach] = []
        rules = {each.order_id: self.rules_of(each.title, orders.get(each.order_id)) for each in comparison.results}
        for result in comparison.by_importance:
            found = list(_breaches(result, rules[result.order_id]))
            if comparison.has_many_sides:
                name = comparison.names[result.side]
                found = [dataclasses.replace(each, sentence=f"{name}: {each.sentence}") for each in found]
            (accepted if result.accepted else breaches).extend(found)
            not_known += [] if result.accepted else _not_known(result, rules[result.order_id])
        unjudged = tuple(_unjudged(comparison, {rule for each in rules.values() for rule in each}))
        if any(breach.rule != "undecided" for breach in breaches):
            outcome: Outcome = "slower"
        elif comparison.failures or unjudged:
            outcome = "failed"
        elif not (comparison.results or comparison.skips or comparison.not_reached):
            outcome = "nothing"
        elif breaches or (comparison.not_reached and any(rule.watched == "undecided" for rule in self.rules)):
            outcome = "undecided"
        else:
            outcome = "fine"
        return GateVerdict(outcome, tuple(breaches), tuple(accepted), unjudged, tuple(not_known))

    def judge_compiled(self, reports: Iterable[CompileReport], *, measured: bool, failed: bool) -> GateVerdict:
        """Judge compilations. `measured` and `failed` say whether anything ran, and whether anything failed."""
        words = tuple(rule.watched for rule in self.rules if rule.watched in COMPILE_WORDS)
        breaches = [
            Breach("", report.task_spec.title, ",".join(words), ", ".join(found))
            for report in reports
            if (found := report.complaints(words))
        ]
        if breaches:
            return GateVerdict("broken", tuple(breaches))
        if failed:
            return GateVerdict("failed")
        return GateVerdict("fine" if measured else "nothing")


def rules_for(
    rules: tuple[FailRule, ...],
    thresholds: tuple[Threshold, ...],
    title: str,
    tags: tuple[str, ...],
    own: tuple[FailRule, ...] | None = None,
) -> tuple[FailRule, ...]:
    """Return the rules for one benchmark: the general ones, then those of its tags, of its suite (`own`), of its name.

    Each replaces earlier ones that watch the same figure; an empty tuple replaces all. The last match wins.
    """
    apply = [each for each in thresholds if each.applies_to(title, tags)]
    by_tag = [each.rules for each in apply if each.tag]
    by_name = [each.rules for each in apply if not each.tag]
    for replacing in (*by_tag, own, *by_name):
        if replacing is not None:
            replaced = {rule.watched for rule in replacing}
            kept = tuple(rule for rule in rules if rule.watched not in replaced)
            rules = (*kept, *replacing) if replacing else ()
    return rules


def _only(rules: tuple[FailRule, ...] | None, measured: Set[str]) -> tuple[FailRule, ...] | None:
    if not rules:
        return rules
    # None if no rule is left: an empty tuple would mean that nothing fails.
    return tuple(rule for rule in rules if rule.watched in measured) or None


def _breaches(result: ComparisonResult, rules: tuple[FailRule, ...]) -> Iterator[Breach]:
    for rule in rules:
        if sentence := _sentence(result, rule, rules):
            yield Breach(result.order_id, result.title, str(rule), sentence, result.side)
    # If what is less than certain fails, slower fails, too.
    watched = {rule.watched for rule in rules}
    if watched & {"probable", "undecided"} and "slower" not in watched and result.verdict == "slower":
        yield Breach(result.order_id, result.title, "slower", _slower_breach(result.judged, SLOWER), result.side)


def _sentence(result: ComparisonResult, rule: FailRule, rules: tuple[FailRule, ...]) -> str:
    """Return how a rule is broken; empty if it is kept."""
    by_itself: dict[Watched, str] = {
        "memory": _memory_breach(result.memory, rule),
        "instructions": _instructions_breach(result.instructions, rule),
        "compile": _compile_breach(changed_by_themselves(result.figures), rule),
        "slower": _slower_breach(result.judged, rule),
    }
    if rule.watched in by_itself:
        return by_itself[rule.watched]
    if rule.watched == "probable":
        return _probable_breach(result.judged, rule, next((each for each in rules if each.watched == "slower"), SLOWER))
    if rule.watched == "undecided":
        return "undecided" if result.verdict == "undecided" else _not_known_sentence(result.judged, rules)
    return ""


def _not_known(result: ComparisonResult, rules: tuple[FailRule, ...]) -> list[Breach]:
    sentence = _not_known_sentence(result.judged, rules)
    rule = next((str(each) for each in rules if each.watched == "slower"), "")
    return [Breach(result.order_id, result.title, rule, sentence, result.side)] if sentence else []


def _beyond(rule: FailRule) -> str:
    return f", more than the {rule.allowed} allowed" if rule.allowed else ""


def _slower_breach(verdict: Verdict, rule: FailRule) -> str:
    """Return how much slower it is; with a threshold, the whole interval must lie beyond it."""
    fails = verdict.exceeds(rule.share) if rule.share else verdict.verdict == "slower"
    return f"slower by {percent(verdict.ratio - 1.0)}{_beyond(rule)}" if fails else ""


def _probable_breach(verdict: Verdict, rule: FailRule, slower: FailRule) -> str:
    """Return how much slower it is, probably: beyond its own threshold, or that of `slower`."""
    threshold = rule if rule.share else slower
    within_threshold = threshold.share and verdict.ratio - 1.0 <= threshold.share
    if verdict.verdict not in ("slower", "probably slower") or within_threshold:
        return ""
    if _slower_breach(verdict, slower):
        # The other rule says so.
        return ""
    return f"probably slower by {percent(verdict.ratio - 1.0)}{_beyond(threshold)}"


def _not_known_sentence(verdict: Verdict, rules: tuple[FailRule, ...]) -> str:
    """Return what the interval says about an allowed slowdown if it decides nothing; otherwise empty."""
    rule = next((each for each in rules if each.watched == "slower" and each.share), None)
    if rule is None or not verdict.has_change or verdict.exceeds(rule.share) is not None:
        return ""
    return (
        f"not known whether it is slower by more than the {rule.allowed} allowed: "
        f"{change(verdict.ratio)} ({span(verdict.interval)})"
    )


def _instructions_breach(changed: InstructionChange | None, rule: FailRule) -> str:
    if changed is None or not changed.has_changed or changed.ratio - 1.0 <= rule.share:
        return ""
    return f"{percent(changed.ratio - 1.0)} more instructions{_beyond(rule)}"


def _has_compilation(result: ComparisonResult) -> bool:
    return any(figure.own_verdict for figure in result.figures)


def _compile_breach(changed: tuple[FigureChange, ...], rule: FailRule) -> str:
    grown = [each for each in changed if each.share > rule.share]
    return "; ".join(f"{percent(each.share)} more {each.words}{_beyond(rule)}" for each in grown)


def _memory_breach(memory: MemoryChange | None, rule: FailRule) -> str:
    """Return how much more memory is used than allowed; empty if none. If mixed, the largest growth counts."""
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
        if rule.watched == "compile" and not any(map(_has_compilation, comparison.results)):
            yield f"{rule}: no compilation was counted"
        if rule.watched == "memory" and all(each.memory is None for each in comparison.results):
            yield f"{rule}: no memory was measured"
