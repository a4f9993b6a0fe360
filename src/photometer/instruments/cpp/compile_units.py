"""Which snippets share a file, and what to compile after a file that failed. A file is a CompileUnit.

Parsing torch's headers is nearly all of the work, so as many snippets as possible share it. A snippet gets its own file
if its text could affect another: macros and other directives, file-level variables, anything not recognised. Only
snippets with the same `#include` lines (apart from torch's own, which all have) are grouped, so that none compiles
thanks to a header of its neighbour. A snippet's machine code does not depend on its neighbours: see compiler.py.

After a failure, snippets without errors are compiled again together. One with errors has failed if they are certainly
its own. If the way the file was written may be the cause (keeping results, fewer headers, a namespace around file-level
code), it is first written in other ways, and finally exactly as the user wrote it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from photometer.instruments.cpp.diagnostics import Diagnostic, errors_of, owners_of_errors, read_diagnostics
from photometer.instruments.cpp.snippet import CppSnippet
from photometer.instruments.cpp.source import (
    HEADER_NAME,
    Guard,
    NamedSnippet,
    Prelude,
    choose_prelude,
    has_directive,
    is_self_contained,
    may_share_a_file,
    own_file,
    own_includes,
    shared_file,
    split_includes,
    sunk_lines,
)

# Seconds on one core: parsing torch's headers, and each snippet after that. Only their ratios matter.
PARSING_SECONDS = {Prelude.TENSOR: 8.0, Prelude.EVERYTHING: 16.0}
SNIPPET_SECONDS = 0.3
# An additional file is worth its memory only if all are finished this much sooner.
WORTH_A_FILE_SECONDS = 4.0
# What a compiler says if a header is missing from the shorter prelude.
_UNKNOWN_NAME = re.compile(
    r"not (?:been )?declared|undeclared|is not a member|does not name|incomplete type|unknown type|"
    r"no (?:member|type|template) named \S+ in namespace"
)


class Guards(enum.Enum):
    """The forms of each statement in a file, in the order in which they are tried."""

    KEPT = (Guard.KEPT,)
    # The plain one first: errors of file-level code then carry its name.
    BOTH = (Guard.PLAIN, Guard.KEPT)
    PLAIN = (Guard.PLAIN,)


@dataclass(frozen=True)
class CompileUnit:
    """One file to compile: its snippets, their forms, and its headers of torch."""

    members: tuple[NamedSnippet, ...]
    prelude: Prelude
    shared: bool
    guards: Guards = Guards.KEPT

    @property
    def text(self) -> str:
        if self.shared:
            return shared_file(self.members, self.prelude, self.guards.value)
        (member,) = self.members
        return own_file(member, self.prelude, self.guards.value)

    @property
    def reported_guard(self) -> Guard:
        """Return the form whose messages are shown to the user: the one without our additions, if there is one."""
        guards: tuple[Guard, ...] = self.guards.value
        return guards[0]


@dataclass(frozen=True)
class Retry:
    """Files to compile next, and the members whose failure is final."""

    units: tuple[CompileUnit, ...] = ()
    failed: tuple[NamedSnippet, ...] = ()


def may_share(snippet: CppSnippet) -> bool:
    """Return whether a snippet cannot affect others in the same file."""
    _, file_level = split_includes(snippet.global_setup)
    code = (snippet.setup, snippet.stmt)
    if not all(is_self_contained(text) for text in (*code, file_level)):
        return False
    return not any(has_directive(text) for text in code) and may_share_a_file(file_level)


def group_snippets(members: Sequence[NamedSnippet], *, alone: bool = False, jobs: int = 1) -> list[CompileUnit]:
    """Return units for all members, those that take longest first; as many as keep `jobs` compilers busy."""
    units: list[CompileUnit] = []
    groups: dict[tuple[Prelude, tuple[str, ...]], list[NamedSnippet]] = {}
    for member in members:
        prelude = choose_prelude(member.snippet)
        if alone or not may_share(member.snippet):
            units.append(CompileUnit((member,), prelude, shared=False))
        else:
            wanted = own_includes(member.snippet, prelude)
            groups.setdefault((prelude, tuple(line.strip() for line in wanted.split("\n") if line)), []).append(member)
    files = [(prelude, tuple(group)) for (prelude, _), group in groups.items()]
    others = [_seconds(unit.prelude, 1) for unit in units]
    while files:
        split = _with_longest_split(files)
        if _finish(split, others, jobs) > _finish(files, others, jobs) - WORTH_A_FILE_SECONDS:
            break
        files = split
    units += [CompileUnit(group, prelude, shared=True) for prelude, group in files]
    return sorted(units, key=lambda unit: -_seconds(unit.prelude, len(unit.members)))


_File = tuple[Prelude, tuple[NamedSnippet, ...]]


def _with_longest_split(files: Sequence[_File]) -> list[_File]:
    """Return the files, with the one that takes longest split in two."""
    longest = max(files, key=lambda file: _seconds(file[0], len(file[1])))
    prelude, members = longest
    halves = [(prelude, half) for half in (members[::2], members[1::2]) if half]
    return [*(file for file in files if file is not longest), *halves]


def _seconds(prelude: Prelude, snippets: int) -> float:
    return PARSING_SECONDS[prelude] + SNIPPET_SECONDS * snippets


def _finish(files: Sequence[_File], others: Sequence[float], jobs: int) -> float:
    """Return the seconds until all are compiled, if each compiler takes the longest remaining file."""
    ends = [0.0] * max(jobs, 1)
    for seconds in sorted([*(_seconds(prelude, len(members)) for prelude, members in files), *others], reverse=True):
        ends[ends.index(min(ends))] += seconds
    return max(ends)


def retry_after_failure(unit: CompileUnit, log: str, *, hopeless: bool) -> Retry:
    """Decide what to compile next.

    `hopeless`: no other form can help (a missing header, a killed compiler).
    """
    if hopeless:
        return Retry(failed=unit.members)
    diagnostics = read_diagnostics(log)
    blamed = owners_of_errors(diagnostics, [member.symbol for member in unit.members])
    if blamed is None:
        if len(unit.members) > 1:
            half = len(unit.members) // 2
            parts = (unit.members[:half], unit.members[half:])
            return Retry(units=tuple(replace(unit, members=part) for part in parts))
        blamed = {unit.members[0].symbol}

    units = _together(unit, (m for m in unit.members if m.symbol not in blamed), Guards.KEPT, unit.prelude)
    again: dict[tuple[Guards, Prelude, bool], list[NamedSnippet]] = {}
    failed = []
    for member in (m for m in unit.members if m.symbol in blamed):
        way = _another_way(unit, member, diagnostics)
        if way is None:
            failed.append(member)
        else:
            again.setdefault(way, []).append(member)
    for (guards, prelude, shared), members in again.items():
        units += _together(replace(unit, shared=shared), members, guards, prelude)
    return Retry(tuple(units), tuple(failed))


def _together(
    unit: CompileUnit, members: Iterable[NamedSnippet], guards: Guards, prelude: Prelude
) -> list[CompileUnit]:
    chosen = tuple(members)
    if unit.shared:
        return [CompileUnit(chosen, prelude, True, guards)] if chosen else []
    return [CompileUnit((member,), prelude, False, guards) for member in chosen]


def _another_way(
    unit: CompileUnit, member: NamedSnippet, diagnostics: list[Diagnostic]
) -> tuple[Guards, Prelude, bool] | None:
    """Return how to write a failing snippet next (guards, prelude, shared), or None if its failure is final."""
    plain_errors = errors_of(diagnostics, member.label(unit.reported_guard))
    if unit.guards is Guards.BOTH and not plain_errors:
        return Guards.PLAIN, unit.prelude, unit.shared
    wider = unit.prelude is Prelude.TENSOR and any(_UNKNOWN_NAME.search(line) for e in plain_errors for line in e.lines)
    in_namespace = unit.shared and bool(split_includes(member.snippet.global_setup)[1].strip())
    guarded = unit.guards is Guards.KEPT and _guard_may_be_to_blame(member, plain_errors)
    if not (wider or in_namespace or guarded):
        return None
    guards = Guards.BOTH if unit.guards is Guards.KEPT else unit.guards
    return guards, Prelude.EVERYTHING if wider else unit.prelude, unit.shared and not in_namespace


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
