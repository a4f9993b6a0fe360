"""Curves: how the time of a benchmark, or a metric of its own, changes along an axis of its sweep.

In: the facts of orders. Out: one CurveSet per benchmark and axis: a Curve per variant, and sentences that name where
one variant becomes faster than another and how each grows.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from photometer.analysis.order_facts import OrderFacts
from photometer.model.order_name import label_text
from photometer.model.units import format_number, format_seconds

# Two points are a difference, not a curve.
FEWEST_POINTS = 3
# More lines cannot be distinguished; the long table has all.
MOST_CURVES = 8
# Below this share of the value at the largest size, what grows does not show.
SMALLEST_VARYING_SHARE = 0.1
TIME = "time"
BUS_BANDWIDTH = "bus bandwidth (GB/s)"


@dataclasses.dataclass(frozen=True)
class CurvePoint:
    """A value with its interval, if there is one; `id` is that of the order."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    id: str = ""


@dataclasses.dataclass(frozen=True)
class Curve:
    """Points by rising x. The name has the variant and the other sizes."""

    name: str
    points: tuple[CurvePoint, ...]


@dataclasses.dataclass(frozen=True)
class CurveSet:
    """`measures` is "time" or the name of a metric; `left_out` counts the curves beyond the maximum shown."""

    label: tuple[str, ...]
    axis: str
    measures: str
    curves: tuple[Curve, ...]
    sentences: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def title(self) -> str:
        against = f"{self.measures} against {self.axis}"
        return f"{label_text(self.label)}: {against}" if self.label else against[:1].upper() + against[1:]


def curve_sets(facts: Sequence[OrderFacts]) -> list[CurveSet]:
    """Return the curves of every benchmark that is swept over numbers."""
    groups: dict[tuple[str, ...], list[OrderFacts]] = {}
    for each in facts:
        groups.setdefault(each.label, []).append(each)
    return [found for group in groups.values() for found in _sets_of(group)]


def with_siblings(sets: Sequence[CurveSet]) -> list[CurveSet]:
    """Return the sets with those of siblings joined: benchmarks under one label that are swept along the same axis.

    Sets are joined only as long as their curves can be distinguished. Sentences stay those of each benchmark.
    """
    joined: list[CurveSet] = []
    for each in sets:
        named = _named_by_label(each)
        place = next((i for i, other in enumerate(joined) if _are_siblings(other, each)), None)
        if place is None or len(joined[place].curves) + len(each.curves) > MOST_CURVES:
            joined.append(each)
            continue
        first = joined[place]
        curves = first.curves if first.label == each.label[:-1] else _named_by_label(first)
        joined[place] = dataclasses.replace(
            first,
            label=each.label[:-1],
            curves=(*curves, *named),
            sentences=(*first.sentences, *each.sentences),
            left_out=first.left_out + each.left_out,
        )
    return joined


def _are_siblings(joined: CurveSet, other: CurveSet) -> bool:
    if (joined.axis, joined.measures) != (other.axis, other.measures):
        return False
    return joined.label == other.label[:-1] or (joined.label[:-1] == other.label[:-1] and joined.label != other.label)


def _named_by_label(curves: CurveSet) -> tuple[Curve, ...]:
    """Return the curves with the benchmark's name in theirs."""
    name = curves.label[-1]
    return tuple(
        curve if curve.name == name else dataclasses.replace(curve, name=f"{name}, {curve.name}")
        for curve in curves.curves
    )


def _sets_of(group: list[OrderFacts]) -> Iterable[CurveSet]:
    label = group[0].label
    for axis in dict.fromkeys(name for each in group for name, _ in each.sizes):
        for measures in dict.fromkeys([TIME, *(name for each in group for name in _metrics(each))]):
            curves = _curves(group, axis, measures)
            if not curves:
                continue
            shown = curves[:MOST_CURVES]
            sentences = sentences_of(shown, axis) if measures == TIME else ()
            yield CurveSet(label, axis, measures, tuple(shown), sentences, len(curves) - len(shown))


def _metrics(facts: OrderFacts) -> dict[str, float]:
    """Return the other values to draw, by name: the order's own metrics, and a collective's bandwidth on the bus."""
    values = {} if facts.metrics is None else {each.name: each.median for each in facts.metrics.metrics}
    bandwidth = None if facts.rank_times is None else facts.rank_times.bus_bytes_per_second
    return values if bandwidth is None else {**values, BUS_BANDWIDTH: bandwidth / 1e9}


def _curves(group: list[OrderFacts], axis: str, measures: str) -> list[Curve]:
    """Return one curve per variant and combination of the other sizes, by rising x."""
    points: dict[str, list[CurvePoint]] = {}
    plain = _plain_name(group)
    for each in group:
        x = dict(each.sizes).get(axis)
        if isinstance(x, bool) or not isinstance(x, int | float):
            continue
        others = [f"{name}={value}" for name, value in each.sizes if name != axis]
        words = [each.variant or ("" if others else plain), *others]
        point = _point(each, float(x), measures)
        if point is not None:
            points.setdefault(", ".join(word for word in words if word), []).append(point)
    ordered = {name: tuple(sorted(found, key=lambda point: point.x)) for name, found in points.items()}
    return [Curve(name, found) for name, found in ordered.items() if len({p.x for p in found}) >= FEWEST_POINTS]


def _plain_name(group: list[OrderFacts]) -> str:
    """Return the name of the plainest variant beside the others: by what they change."""
    if len({each.runtime for each in group}) > 1:
        return "eager"
    if len({each.language for each in group}) > 1:
        return "Python"
    if len({each.autograd for each in group}) > 1:
        return "forward"
    if len({each.device for each in group}) > 1:
        return "cpu"
    return "1 thread" if len({each.num_threads for each in group}) > 1 else group[0].label[-1]


def _point(facts: OrderFacts, x: float, measures: str) -> CurvePoint | None:
    if measures != TIME:
        value = _metrics(facts).get(measures)
        return None if value is None else CurvePoint(x, value, id=facts.id)
    if facts.seconds is None:
        return None
    low, high = (end if end is not None and math.isfinite(end) else None for end in (facts.low, facts.high))
    return CurvePoint(x, facts.seconds, low, high, facts.id)


def sentences_of(curves: Sequence[Curve], axis: str) -> tuple[str, ...]:
    """Return sentences on where each curve crosses the first, and how each grows."""
    crossings = [crossing_sentence(curves[0], other, axis) for other in curves[1:]]
    growths = [growth_sentence(curve, axis) for curve in curves]
    return tuple(sentence for sentence in (*crossings, *growths) if sentence)


def crossing_sentence(first: Curve, other: Curve, axis: str) -> str:
    """Return `compiled is faster than eager from n = 4,096 on`; empty if nothing is certain.

    A point counts if the intervals are apart. From the crossing on, the other curve is never shown to be slower.
    """
    base = {point.x: point for point in first.points}
    signs = [(point.x, _sign(base[point.x], point)) for point in other.points if point.x in base]
    certain = [(x, sign) for x, sign in signs if sign]
    if not certain:
        return ""
    words = {-1: "faster", 1: "slower"}
    last = certain[-1][1]
    turned = [place for place, (_, sign) in enumerate(certain) if sign != last]
    if not turned:
        scope = f"at every {axis}" if len(certain) == len(signs) else f"at {len(certain)} of {len(signs)} points"
        return f"{other.name} is {words[last]} than {first.name} {scope}"
    start = certain[turned[-1] + 1][0]
    return f"{other.name} is {words[last]} than {first.name} from {axis} = {format_number(start)} on"


def _sign(base: CurvePoint, other: CurvePoint) -> int:
    """Return -1 if the other is certainly lower, 1 if it is certainly higher, 0 if the intervals overlap."""
    if None in (base.low, base.high, other.low, other.high):
        return 0
    if other.high < base.low:  # type: ignore[operator]
        return -1
    return 1 if other.low > base.high else 0  # type: ignore[operator]


def growth_sentence(curve: Curve, axis: str) -> str:
    """Return `eager grows as n^2 above 3.1 us`; empty if no such curve fits."""
    # Numpy takes longer to import than all else that tables and verdicts need.
    from photometer.stats.growth import fit_growth

    growth = fit_growth([point.x for point in curve.points], [point.y for point in curve.points])
    if growth is None:
        return ""
    largest = curve.points[-1].x
    if growth.varying_share(largest) < SMALLEST_VARYING_SHARE or growth.power == 0.0:
        return f"{curve.name} does not depend on {axis}"
    constant = f" above {format_seconds(growth.constant, 2)}" if growth.constant > 0 else ""
    power = "" if round(growth.power, 2) == 1.0 else f"^{growth.power:.2g}"
    return f"{curve.name} grows as {axis}{power}{constant}"
