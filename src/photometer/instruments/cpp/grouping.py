"""Which snippets share a file. In: named snippets. Out: units, each one file for the compiler.

Parsing torch's headers is nearly all of the work, so as many as can be share it. A snippet stands alone where something
of its text could reach another: macros and other directives, file-level variables, what is not recognised. Those with
the same `#include` lines go together, so that no snippet compiles thanks to a header that only its neighbour asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from photometer.instruments.cpp.pieces import has_directive, may_share_a_file, split_includes
from photometer.instruments.cpp.snippet import CppSnippet
from photometer.instruments.cpp.source import Guard, NamedSnippet, Prelude, choose_prelude, own_file, shared_file

# A snippet costs 0.1 to 0.3 s of compiling, the headers 8 to 16 s: beyond this, parsing them twice on two cores pays.
SNIPPETS_PER_FILE = 40


@dataclass(frozen=True)
class Unit:
    """One file to compile: its members (or the variants of the one member) and what it includes of torch."""

    members: tuple[NamedSnippet, ...]
    prelude: Prelude
    shared: bool

    @property
    def text(self) -> str:
        return (shared_file if self.shared else own_file)(self.members, self.prelude)


def may_share(snippet: CppSnippet) -> bool:
    _, file_level = split_includes(snippet.global_setup)
    return not (has_directive(snippet.setup) or has_directive(snippet.stmt)) and may_share_a_file(file_level)


def group_snippets(
    members: Sequence[NamedSnippet], *, alone: bool = False, per_file: int = SNIPPETS_PER_FILE
) -> list[Unit]:
    """Units for all members, those that take longest first."""
    units: list[Unit] = []
    groups: dict[tuple[Prelude, str], list[NamedSnippet]] = {}
    for member in members:
        prelude = choose_prelude(member.snippet)
        if alone or not may_share(member.snippet):
            units.append(Unit((member,), prelude, shared=False))
        else:
            includes, _ = split_includes(member.snippet.global_setup)
            wanted = "\n".join(line.strip() for line in includes.split("\n") if line)
            groups.setdefault((prelude, wanted), []).append(member)
    for (prelude, _), group in groups.items():
        files = -(-len(group) // per_file)
        units += [Unit(tuple(group[i::files]), prelude, shared=True) for i in range(files)]
    return sorted(units, key=lambda unit: (unit.prelude is not Prelude.EVERYTHING, -len(unit.members)))


def both_variants(member: NamedSnippet) -> Unit:
    """The second try of a snippet that failed: all of torch, a file of its own, and the statement also as it stands."""
    plain = NamedSnippet(member.snippet, f"{member.symbol}_plain", Guard.PLAIN)
    # The plain one first: errors of the file-level code then carry its name.
    return Unit((plain, NamedSnippet(member.snippet, member.symbol)), Prelude.EVERYTHING, shared=False)


def plain_variant(member: NamedSnippet) -> Unit:
    """The last try: the statement exactly as it stands, where keeping its results did not compile."""
    return Unit((NamedSnippet(member.snippet, member.symbol, Guard.PLAIN),), Prelude.EVERYTHING, shared=False)
