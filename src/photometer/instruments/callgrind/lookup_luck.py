"""What look-ups execute by luck: probing in dictionaries, attributes of types, and comparing of bytes.

In comes a CallgrindProfile; out goes a LookupLuck. Where a name lies in a dictionary depends on the hash seed, and
which attributes push each other out of the cache on addresses. Over several hash seeds these were 0.1 to 0.3 % of a
statement's instructions, and nearly all that differed outside the allocators; a comparison near the end of a page was
the rest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from photometer.instruments.callgrind.profile import INSTRUCTIONS, CallgrindProfile, Function

PROBING = frozenset(
    (
        # CPython 3.11 and later.
        *("unicodekeys_lookup_unicode", "unicodekeys_lookup_generic", "unicodekeys_lookup_split"),
        *("unicodekeys_lookup_unicode_threadsafe",),
        # CPython 3.10; the second is what torch's `denoise` takes away.
        *("lookdict_unicode_nodummy", "lookdict_unicode", "lookdict_split"),
    )
)
"""CPython's search for a string among a dictionary's keys. The functions around it are counted."""

TYPE_LOOKUP = frozenset(
    (
        *("_PyType_Lookup", "_PyType_LookupRef", "_PyType_LookupStackRefAndVersion"),
        *("find_name_in_mro", "assign_version_tag"),
    )
)
"""CPython's way of finding an attribute of a type: in its method cache, or else in the type and its bases.

The cache is indexed by the address of the name: in one of four layouts of a Conv2d the misses were 0.8 % of the
instructions, in the others nothing. Hits are left out as well, for Callgrind does not tell the two apart.
"""

COMPARING = re.compile(r"__w?(?:mem|str|cs)(?:cmp|cmpeq|ncmp|casecmp|ncasecmp|chr|rchr|chrnul|len|nlen)_\w+$")
"""glibc's vector code that compares or searches bytes: it takes another path where a read would cross a page's end.

Whether it would depends on the address: 18 or 24 instructions for one call of memcmp in `x * w`.
"""


@dataclass(frozen=True)
class LookupLuck:
    """Instructions of probing, of look-ups of types' attributes without the probing in them, and of other comparing."""

    probing_instructions: int
    type_lookup_instructions: int
    comparing_instructions: int = 0

    @property
    def instructions(self) -> int:
        return self.probing_instructions + self.type_lookup_instructions + self.comparing_instructions


@dataclass
class _Node:
    own: int = 0
    calls: int = 0
    callees: defaultdict[Function, int] = field(default_factory=lambda: defaultdict(int))


def lookup_luck(
    profile: CallgrindProfile, bare_name: Callable[[str], str], is_allocator: Callable[[str], bool]
) -> LookupLuck:
    index = profile.event_index(INSTRUCTIONS)
    probing = type_lookups = comparing = 0
    for call in profile.calls:
        callee, caller = bare_name(call.callee.name), bare_name(call.caller.name)
        if callee in PROBING and caller not in PROBING:
            probing += call.costs[index]
        elif callee in TYPE_LOOKUP and caller not in TYPE_LOOKUP:
            type_lookups += call.costs[index]
        elif COMPARING.match(callee) and caller not in PROBING | TYPE_LOOKUP and not is_allocator(caller):
            comparing += call.costs[index]
    if type_lookups and (probing or comparing):
        type_lookups = round(_type_lookups_without_probing(profile, index, bare_name))
    return LookupLuck(probing, type_lookups, comparing)


def _type_lookups_without_probing(profile: CallgrindProfile, index: int, bare_name: Callable[[str], str]) -> float:
    """A look-up that misses the cache probes as well, and that must not be taken away twice.

    Callgrind does not say which of the probing was below it; but the functions between the two execute the same
    number of instructions at every call, so that their part is known from how often they are called there.
    """
    nodes: defaultdict[Function, _Node] = defaultdict(_Node)
    for cost in profile.self_costs:
        nodes[cost.function].own += cost.costs[index]
    for call in profile.calls:
        nodes[call.callee].calls += call.count
        nodes[call.caller].callees[call.callee] += call.count
    known: dict[Function, float] = {}

    def per_call(function: Function) -> float:
        # Probing is not to be in the sum, and look-ups that others of them call are in it already.
        bare = bare_name(function.name)
        if bare in PROBING or bare in TYPE_LOOKUP or COMPARING.match(bare):
            return 0.0
        if function not in known:
            known[function] = 0.0  # what calls itself in a circle is counted once
            known[function] = whole(function) / max(nodes[function].calls, 1)
        return known[function]

    def whole(function: Function) -> float:
        node = nodes[function]
        return node.own + sum(count * per_call(callee) for callee, count in node.callees.items())

    return sum(whole(function) for function in list(nodes) if bare_name(function.name) in TYPE_LOOKUP)
