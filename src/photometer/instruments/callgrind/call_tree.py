"""Call stacks for a flame graph, from Callgrind's call graph.

In: a CallgrindProfile. Out: folded stacks: `(("main", "f", "g"), 120)` means that g itself, called by f, called by
main, took 120 instructions. Callgrind keeps edges, not stacks: how g's cost divides among its callers is known, but
not how that part divides among the callers' callers. As in gprof, it is divided in proportion to the cost of the calls.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from photometer.instruments.callgrind.profile import INSTRUCTIONS, UNKNOWN, CallgrindProfile, Function

FoldedStack = tuple[tuple[str, ...], int]

SMALLEST_SHARE = 1e-4
"""A frame below a ten-thousandth of the whole is thinner than a pixel: what it calls is not shown separately."""

_RECURSION = re.compile(r"'\d+$")
_NO_NAME = re.compile(r"0x[0-9a-f]+$")


@dataclass
class _Node:
    """A function in the graph: its own cost, and the cost of the calls it makes."""

    own: int = 0
    callees: dict[Function, int] = field(default_factory=dict)


def folded_stacks(
    profile: CallgrindProfile, event: str = INSTRUCTIONS, *, smallest_share: float = SMALLEST_SHARE
) -> list[FoldedStack]:
    """Return the stacks, costliest first. They sum exactly to the profile's total.

    If functions call each other in a cycle (the interpreter's loop calls C, which calls the loop), the edge that
    closes the cycle is left out, and what ran below it is shown where the cycle was entered. Every function keeps its
    own cost, and no stack contains a function twice, except `f` above `f'2`, Callgrind's recursive part.
    """
    nodes = _graph(profile, profile.event_index(event))
    order = _without_cycles(nodes)
    callers_cost: defaultdict[Function, int] = defaultdict(int)
    for node in nodes.values():
        for callee, cost in node.callees.items():
            callers_cost[callee] += cost
    inclusive = _inclusive(nodes, order, callers_cost)
    weights: defaultdict[tuple[str, ...], float] = defaultdict(float)
    threshold = profile.total(event) * smallest_share
    open_frames: list[tuple[tuple[str, ...], Function, float]]
    open_frames = [((frame_name(root),), root, inclusive[root]) for root in order if not callers_cost[root]]
    while open_frames:
        stack, function, weight = open_frames.pop()
        node = nodes[function]
        if weight < threshold or not inclusive[function]:
            weights[stack] += weight
            continue
        share = weight / inclusive[function]
        weights[stack] += node.own * share
        for callee, cost in node.callees.items():
            below = inclusive[callee] * (cost / callers_cost[callee]) * share
            open_frames.append(((*stack, frame_name(callee)), callee, below))
    return whole_numbers(weights, profile.total(event))


def frame_name(function: Function) -> str:
    """Return the label of a frame: the function, without Callgrind's mark of recursion."""
    name = _RECURSION.sub("", function.name)
    known_object = function.object_path not in ("", UNKNOWN)
    return f"{name} [{PurePosixPath(function.object_path).name}]" if known_object and _NO_NAME.match(name) else name


def _graph(profile: CallgrindProfile, index: int) -> dict[Function, _Node]:
    nodes: defaultdict[Function, _Node] = defaultdict(_Node)
    for cost in profile.self_costs:
        nodes[cost.function].own += cost.costs[index]
    for call in profile.calls:
        nodes[call.callee].own += 0
        if call.costs[index]:
            callees = nodes[call.caller].callees
            callees[call.callee] = callees.get(call.callee, 0) + call.costs[index]
    return dict(nodes)


def _without_cycles(nodes: dict[Function, _Node]) -> list[Function]:
    """Remove each edge back to a function that is still open, and return the functions, callers before callees.

    The search is depth-first, starting from functions without callers and following the costliest call first, so that
    the removed edge is the inner one of a recursion and not its entry.
    """
    called = {callee for node in nodes.values() for callee in node.callees}
    cost_of = {f: node.own + sum(node.callees.values()) for f, node in nodes.items()}
    starts = sorted(nodes, key=lambda f: (f in called, -cost_of[f], f.name))
    finished: list[Function] = []
    is_open: dict[Function, bool] = {}
    for start in starts:
        if start in is_open:
            continue
        is_open[start] = True
        path = [(start, iter(_costliest_first(nodes[start])))]
        while path:
            function, callees = path[-1]
            callee = next(callees, None)
            if callee is None:
                is_open[function] = False
                finished.append(function)
                path.pop()
            elif callee not in is_open:
                is_open[callee] = True
                path.append((callee, iter(_costliest_first(nodes[callee]))))
            elif is_open[callee]:
                del nodes[function].callees[callee]
    return finished[::-1]


def _costliest_first(node: _Node) -> list[Function]:
    return sorted(node.callees, key=lambda callee: (-node.callees[callee], callee.name))


def _inclusive(
    nodes: dict[Function, _Node], order: list[Function], callers_cost: dict[Function, int]
) -> dict[Function, float]:
    """Return each function's own cost plus its part of each callee's, so that nothing is lost or counted twice."""
    inclusive: dict[Function, float] = {}
    for function in reversed(order):
        node = nodes[function]
        below = (inclusive[callee] * (cost / callers_cost[callee]) for callee, cost in node.callees.items())
        inclusive[function] = node.own + sum(below)
    return inclusive


def whole_numbers(weights: dict[tuple[str, ...], float], total: int) -> list[FoldedStack]:
    """Round so that the sum stays `total`: the weights nearest to the next whole number are rounded up."""
    if not weights:
        return []
    counts = {stack: int(weight) for stack, weight in weights.items()}
    missing = total - sum(counts.values())
    by_remainder = sorted(weights, key=lambda stack: (counts[stack] - weights[stack], stack))
    for stack in by_remainder[: max(missing, 0)]:
        counts[stack] += 1
    # Floating point may be off by one in graphs of 10^12 instructions: the costliest stack absorbs it.
    counts[max(counts, key=counts.__getitem__)] += total - sum(counts.values())
    return sorted(((stack, count) for stack, count in counts.items() if count), key=lambda row: (-row[1], row[0]))
