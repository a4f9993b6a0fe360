"""Which snippets share a file. In: named snippets. Out: units, each one file for the compiler.

Parsing torch's headers is nearly all of the work, so as many as can be share it. A snippet stands alone where something
of its text could reach another: macros and other directives, file-level variables, what is not recognised. Those with
the same `#include` lines go together, so that no snippet compiles thanks to a header that only its neighbour asked for.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from photometer.instruments.cpp.pieces import has_directive, is_self_contained, may_share_a_file, split_includes
from photometer.instruments.cpp.snippet import CppSnippet
from photometer.instruments.cpp.source import Guard, NamedSnippet, Prelude, choose_prelude, own_file, shared_file

# A snippet costs 0.1 to 0.3 s of compiling, the headers 8 to 16 s: beyond this, parsing them twice on two cores pays.
SNIPPETS_PER_FILE = 40


class Variants(enum.Enum):
    """In which ways each statement stands in a file: the order in which they are tried."""

    KEPT = (Guard.KEPT,)
    # The plain one first: errors of file-level code then carry its name.
    BOTH = (Guard.PLAIN, Guard.KEPT)
    PLAIN = (Guard.PLAIN,)


@dataclass(frozen=True)
class Unit:
    """One file to compile: its snippets, in which variants, and what it includes of torch."""

    members: tuple[NamedSnippet, ...]
    prelude: Prelude
    shared: bool
    variants: Variants = Variants.KEPT

    @property
    def text(self) -> str:
        if self.shared:
            return shared_file(self.members, self.prelude, self.variants.value)
        (member,) = self.members
        return own_file(member, self.prelude, self.variants.value)


def may_share(snippet: CppSnippet) -> bool:
    _, file_level = split_includes(snippet.global_setup)
    code = (snippet.setup, snippet.stmt)
    if not all(is_self_contained(text) for text in (*code, file_level)):
        return False
    return not any(has_directive(text) for text in code) and may_share_a_file(file_level)


def group_snippets(
    members: Sequence[NamedSnippet], *, alone: bool = False, per_file: int = SNIPPETS_PER_FILE
) -> list[Unit]:
    """Units for all members, those that take longest first."""
    units: list[Unit] = []
    groups: dict[tuple[Prelude, tuple[str, ...]], list[NamedSnippet]] = {}
    for member in members:
        prelude = choose_prelude(member.snippet)
        if alone or not may_share(member.snippet):
            units.append(Unit((member,), prelude, shared=False))
        else:
            includes, _ = split_includes(member.snippet.global_setup)
            wanted = tuple(line.strip() for line in includes.split("\n") if line)
            groups.setdefault((prelude, wanted), []).append(member)
    for (prelude, _), group in groups.items():
        files = -(-len(group) // per_file)
        units += [Unit(tuple(group[i::files]), prelude, shared=True) for i in range(files)]
    return sorted(units, key=lambda unit: (unit.prelude is not Prelude.EVERYTHING, -len(unit.members)))
