from __future__ import annotations

import re

import pytest

from photometer.errors import CallgrindFileError, MeasurementError
from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.callgrind.profile import Function
from tests.instruments.callgrind import GOLDEN, parse_profile

HEADER = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 7\ncmd: ./a b\npart: 1\n"

HAND_WRITTEN = (
    HEADER
    + """
desc: Trigger: Client Request
positions: line
events: Ir Dr
summary: 40 8

ob=(1) /lib/a.so
fl=(1) a.c
fn=(1) f
10 5 1
+2 5
fi=(2) a.h
-1 7 2
cfn=(2) g
calls=3 20
* 12 4
fe=(1)
* 3
cob=(2) /lib/b.so
cfi=(3) b.c
cfn=(3) h
calls=1 +4
* 8 1

ob=(2)
fl=(3)
fn=(3)
40 8 1

ob=(1)
fl=(2)
fn=(2)
20 12 4

totals: 40 8
"""
)


def test_reads_names_positions_inlined_code_and_calls() -> None:
    profile = parse_text(HAND_WRITTEN, source="hand")
    f, g, h = Function("/lib/a.so", "a.c", "f"), Function("/lib/a.so", "a.h", "g"), Function("/lib/b.so", "b.c", "h")
    assert {(c.function, c.file): c.costs for c in profile.self_costs} == {
        (f, "a.c"): (13, 1),
        (f, "a.h"): (7, 2),
        (g, "a.h"): (12, 4),
        (h, "b.c"): (8, 1),
    }
    assert [(c.caller, c.caller_file, c.callee, c.count, c.costs) for c in profile.calls] == [
        (f, "a.h", g, 3, (12, 4)),
        (f, "a.c", h, 1, (8, 1)),
    ]
    assert (profile.events, profile.totals, profile.parts) == (("Ir", "Dr"), (40, 8), 1)
    assert (profile.pid, profile.command, profile.creator) == (7, "./a b", "callgrind-3.19.0")
    assert profile.total("Dr") == 8


def test_an_event_that_was_not_counted_is_an_error_with_the_option_that_counts_it() -> None:
    with pytest.raises(MeasurementError, match=r"Ir, Dr[\s\S]*--branch-sim=yes"):
        parse_text(HAND_WRITTEN, source="hand").total("Bcm")


def test_the_same_run_reads_the_same_in_every_notation() -> None:
    plain = parse_profile(GOLDEN / "plain.out")
    uncompressed = parse_profile(GOLDEN / "uncompressed.out")
    assert plain.totals == uncompressed.totals == (11471,)
    assert set(plain.self_costs) == set(uncompressed.self_costs)
    assert set(plain.calls) == set(uncompressed.calls)


def test_simulations_jumps_and_instruction_addresses() -> None:
    profile = parse_profile(GOLDEN / "simulated.out")
    assert " ".join(profile.events) == "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim"
    assert profile.totals == (11461, 2504, 1408, 0, 0, 0, 0, 0, 0, 1884, 26, 62, 0)
    plain = {(c.function, c.file): c.costs[0] for c in parse_profile(GOLDEN / "plain.out").self_costs}
    simulated = {(c.function, c.file): c.costs[0] for c in profile.self_costs}
    main = Function("/golden/small", "/golden/small.c", "main")
    # Where the toggle falls inside main depends on the options; everything else executes the same instructions.
    del plain[main, main.file]
    simulated.pop((main, main.file), None)
    assert simulated == plain


def test_several_parts_in_one_file_are_added() -> None:
    combined = parse_profile(GOLDEN / "combined.out")
    single = parse_profile(GOLDEN / "plain.out")
    assert combined.parts == 3
    fib = Function("/golden/small", "/golden/small.c", "fib'2")
    cost = {p.source: next(c.costs[0] for c in p.self_costs if c.function == fib) for p in (combined, single)}
    assert cost[combined.source] == 2 * cost[single.source]
    assert combined.total() == sum(c.costs[0] for c in combined.self_costs)


def test_a_call_that_began_before_the_counters_were_zeroed_is_an_edge_of_count_zero() -> None:
    profile = parse_profile(GOLDEN / "plain.out")
    into_main = [c for c in profile.calls if c.callee.name == "main"]
    assert [(c.count, c.costs) for c in into_main] == [(0, (11471,))]
    assert not [c for c in profile.self_costs if c.function.name == "(below main)"]


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("fn=(1) f", "fn=(9)", 15, "function number 9"),
        ("+2 5", "+2 5 6 7", 17, "does not fit"),
        ("+2 5", "2x 5", 17, "does not fit"),
        ("+2 5", "+2 5.5", 17, "does not fit"),
        ("calls=3 20", "calls=x 20", 21, "call record"),
        ("cfn=(2) g\n", "", 20, "call record"),
        ("* 12 4\nfe", "fe", 22, "without its cost line"),
        ("ob=(2)\n", "øb?(2)\n", 31, "not a line of Callgrind's format"),
        ("events: Ir Dr", "events:", 10, "no events"),
        ("positions: line", "positions: colour", 9, "neither line nor instr"),
        ("fl=(1) a.c\nfn=(1) f\n", "fl=(1) a.c\n", 15, "does not fit"),
    ],
)
def test_a_damaged_line_is_named(old: str, new: str, line: int, what: str) -> None:
    assert old in HAND_WRITTEN
    with pytest.raises(CallgrindFileError, match=rf"hand, line {line}: .*{re.escape(what)}"):
        parse_text(HAND_WRITTEN.replace(old, new, 1), source="hand")


@pytest.mark.lengthy
def test_every_way_of_cutting_a_file_off_is_noticed() -> None:
    text = (GOLDEN / "plain.out").read_text()
    whole = parse_text(text, source="whole")
    for length in range(len(text.rstrip())):
        try:
            cut = parse_text(text[:length], source="cut")
        except CallgrindFileError:
            continue
        pytest.fail(f"{length} of {len(text)} characters passed for a whole file: {cut.totals}, not {whole.totals}")


def test_a_changed_count_is_noticed_by_the_totals() -> None:
    with pytest.raises(CallgrindFileError, match=r"sum to \[41, 8\].*stated total is \[40, 8\]"):
        parse_text(HAND_WRITTEN.replace("10 5 1", "10 6 1"), source="hand")


def test_an_empty_dump_is_a_profile_of_nothing() -> None:
    profile = parse_text(HEADER + "events: Ir\nsummary: 0\n\n\ntotals: 0\n", source="exit")
    assert (profile.totals, profile.self_costs, profile.calls) == ((0,), (), ())


@pytest.mark.parametrize("text", ["", "hello", '{"a": 1}', "\x00\x00"])
def test_something_else_is_no_profile(text: str) -> None:
    with pytest.raises(CallgrindFileError, match="other"):
        parse_text(text, source="other")


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(CallgrindFileError, match=r"version 2 .* is not known"):
        parse_text(HAND_WRITTEN.replace("version: 1", "version: 2"), source="new")
