"""What to do about a file that did not compile: whom to blame, and what to compile next. Pure: a log in, a plan out.

Snippets without errors are compiled again together. One with errors has its verdict at once where the errors are
surely its own; where our way of writing the file may be the cause (keeping results, fewer headers, a namespace around
file-level code), it is written another way first, at last exactly as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from photometer.instruments.cpp.diagnostics import Diagnostic, errors_of, owners_of_errors, read_diagnostics
from photometer.instruments.cpp.grouping import Unit, Variants
from photometer.instruments.cpp.pieces import split_includes
from photometer.instruments.cpp.source import HEADER_NAME, Guard, NamedSnippet, Prelude, sunk_lines

# What a compiler says when a header is missing from the shorter prelude.
_UNKNOWN_NAME = re.compile(
    r"not (?:been )?declared|undeclared|is not a member|does not name|incomplete type|unknown type|"
    r"no (?:member|type|template) named \S+ in namespace"
)


@dataclass(frozen=True)
class Plan:
    """Files to compile next, and the members whose failure is final (with the guard under whose label it is told)."""

    units: tuple[Unit, ...] = ()
    failed: tuple[NamedSnippet, ...] = ()


def plan_after_failure(unit: Unit, log: str, *, hopeless: bool) -> Plan:
    """`hopeless`: no other way of writing the file can help (a missing header, a compiler that was killed)."""
    if hopeless:
        return Plan(failed=unit.members)
    diagnostics = read_diagnostics(log)
    blamed = owners_of_errors(diagnostics, [member.symbol for member in unit.members])
    if blamed is None:
        if len(unit.members) > 1:
            half = len(unit.members) // 2
            parts = (unit.members[:half], unit.members[half:])
            return Plan(units=tuple(replace(unit, members=part) for part in parts))
        blamed = {unit.members[0].symbol}

    units = _together(unit, (m for m in unit.members if m.symbol not in blamed), Variants.KEPT, unit.prelude)
    again: dict[tuple[Variants, Prelude, bool], list[NamedSnippet]] = {}
    failed = []
    for member in (m for m in unit.members if m.symbol in blamed):
        way = _another_way(unit, member, diagnostics)
        if way is None:
            failed.append(member)
        else:
            again.setdefault(way, []).append(member)
    for (variants, prelude, shared), members in again.items():
        units += _together(replace(unit, shared=shared), members, variants, prelude)
    return Plan(tuple(units), tuple(failed))


def guard_to_tell(unit: Unit) -> Guard:
    """The variant whose messages the user is shown: that without our additions, where there is one."""
    guards: tuple[Guard, ...] = unit.variants.value
    return guards[0]


def _together(unit: Unit, members: Iterable[NamedSnippet], variants: Variants, prelude: Prelude) -> list[Unit]:
    chosen = tuple(members)
    if unit.shared:
        return [Unit(chosen, prelude, True, variants)] if chosen else []
    return [Unit((member,), prelude, False, variants) for member in chosen]


def _another_way(
    unit: Unit, member: NamedSnippet, diagnostics: list[Diagnostic]
) -> tuple[Variants, Prelude, bool] | None:
    """How to write a failing snippet next (variants, prelude, shared), or None where its failure is final."""
    plain_errors = errors_of(diagnostics, member.label(guard_to_tell(unit)))
    if unit.variants is Variants.BOTH and not plain_errors:
        return Variants.PLAIN, unit.prelude, unit.shared
    wider = unit.prelude is Prelude.TENSOR and any(_UNKNOWN_NAME.search(line) for e in plain_errors for line in e.lines)
    in_namespace = unit.shared and bool(split_includes(member.snippet.global_setup)[1].strip())
    guarded = unit.variants is Variants.KEPT and _guard_may_be_to_blame(member, plain_errors)
    if not (wider or in_namespace or guarded):
        return None
    variants = Variants.BOTH if unit.variants is Variants.KEPT else unit.variants
    return variants, Prelude.EVERYTHING if wider else unit.prelude, unit.shared and not in_namespace


def _guard_may_be_to_blame(member: NamedSnippet, errors: list[Diagnostic]) -> bool:
    if not errors:
        return True
    touched = sunk_lines(member.snippet.stmt)
    for error in errors:
        places = [place for place in error.places if place.label == member.label(Guard.KEPT)]
        if not places or any(HEADER_NAME in line for line in error.lines):
            return True
        if any(place.part == "photometer" or (place.part == "stmt" and place.line in touched) for place in places):
            return True
    return False
