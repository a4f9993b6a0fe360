"""Profiles for the Callgrind tests: from golden files, and made up."""

from __future__ import annotations

from pathlib import Path

from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.callgrind.profile import Call, CallgrindProfile, Function, SelfCost

GOLDEN = Path(__file__).parent / "golden"


def parse_profile(path: Path) -> CallgrindProfile:
    return parse_text(path.read_text(encoding="utf-8", errors="replace"), source=str(path))


def profile_of(own: dict[str, int], calls: list[tuple[str, str, int, int]]) -> CallgrindProfile:
    function = {name: Function("/lib/x.so", "x.c", name) for name in [*own, *(n for c in calls for n in c[:2])]}
    return CallgrindProfile(
        source="made up",
        creator="",
        command="",
        pid=None,
        parts=1,
        events=("Ir",),
        totals=(sum(own.values()),),
        self_costs=tuple(SelfCost(function[name], "x.c", (cost,)) for name, cost in own.items()),
        calls=tuple(Call(function[a], "x.c", function[b], count, (cost,)) for a, b, count, cost in calls),
    )
