"""Instructions of a compilation: figures, what is compared, and real compilations that are counted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from photometer.analysis.cause import own_sentences
from photometer.analysis.changed_code import changed_code
from photometer.analysis.declared_figures import values_of
from photometer.analysis.figure_change import figure_changes, likely_cause
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.errors import MeasurementError
from photometer.instruments.callgrind.compile_counts import (
    COMPILE_COUNTS,
    LAYOUT_SHARE,
    CompileCounts,
    count_compilation,
    stacks_of_compilation,
)
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder
from photometer.instruments.registry import compared_exactly
from photometer.model.machine import Environment
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
from photometer.plan import materialize
from photometer.plan.codegen_python import FIRST_CALL_BEGINS, FIRST_CALL_ENDS, counted_first_call
from photometer.session.session import Session

COUNTS = CompileCounts(TaskSpec("f(x)"), (1_000_100, 1_000_000, 1_000_300), (3000, 3010, 3010), 10, 1000)


def test_the_count_in_the_middle_stands_for_all() -> None:
    values = {each.figure.name: each.value for each in values_of(COUNTS)}
    assert values == {"compile_instructions": 1_000_100.0, "call_overhead": 201.0}
    assert COUNTS.range == (1_000_000.0, 1_000_300.0)
    assert COUNTS.overhead_range == (200.0, 201.0)
    assert from_record(CompileCounts, to_record(COUNTS)) == COUNTS
    assert dataclasses.replace(COUNTS, eager=None).overhead_per_call is None
    with pytest.raises(MeasurementError):
        dataclasses.replace(COUNTS, compilations=())


def test_a_remark_says_that_compilations_differ() -> None:
    assert COMPILE_COUNTS.remark(COUNTS) == ""
    apart = dataclasses.replace(COUNTS, compilations=(1_000_000, 1_020_000))
    assert COMPILE_COUNTS.remark(apart) == "compilations differ by 2 %"


def changes(compilations: tuple[int, ...], compiled: tuple[int, ...] = COUNTS.compiled) -> dict[str, bool]:
    other = dataclasses.replace(COUNTS, compilations=compilations, compiled=compiled)
    return {each.name: each.has_changed for each in figure_changes(COMPILE_COUNTS, COUNTS, other)}


def test_what_repeats_differ_by_is_no_change_and_more_is() -> None:
    assert COMPILE_COUNTS in compared_exactly()
    assert changes((1_000_200, 1_000_400, 1_000_100)) == {"compile_instructions": False, "call_overhead": False}
    assert changes((1_010_000, 1_010_000, 1_010_000))["compile_instructions"]
    # One per cent more, but its own repeats lie further apart.
    assert not changes((1_000_000, 1_010_000, 1_030_000))["compile_instructions"]
    assert changes(COUNTS.compilations, (9000, 9000, 9000))["call_overhead"]


def test_a_change_has_a_sentence_of_its_own_and_explains_no_time() -> None:
    slower = dataclasses.replace(COUNTS, compilations=(1_100_110,) * 3)
    found = figure_changes(COMPILE_COUNTS, COUNTS, slower)
    assert own_sentences(found) == ["+10 % instructions to compile: 1,000,100 → 1,100,110"]
    assert likely_cause(found, "slower") is None


def test_the_set_up_counts_its_first_call() -> None:
    setup = f"x = 1\n{FIRST_CALL_BEGINS}\ny = f(x)\n{FIRST_CALL_ENDS}\nf(x)"
    assert counted_first_call(setup).splitlines() == [
        "x = 1",
        "photometer_count_compile.begin()",
        "y = f(x)",
        "photometer_count_compile.end()",
        "f(x)",
    ]
    assert counted_first_call(setup, twice=True).splitlines()[1:3] == ["photometer_count_compile.watch()", "y = f(x)"]
    assert counted_first_call(f"{FIRST_CALL_BEGINS}\nf(x)\n{FIRST_CALL_ENDS}").endswith(".end()")


PASSES = """
from torch._dynamo.backends.registry import register_backend


@register_backend
def with_passes(graph, inputs):
    for _ in range({rounds}):
        visit(graph)
    return graph.forward


def visit(graph):
    return [str(node.target) for node in graph.graph.nodes]
"""


def asked() -> Asked:
    group = GroupedStmts(
        "y = x\nfor _ in range(4):\n    y = y.sin() + y",
        setup=GroupedSetup("import passes\nx = torch.ones(8)"),
        signature="f(x) -> y",
        compiled="backend:with_passes",
    )
    (order,) = (order for order in materialize({"chain": group}) if order.eager_args is not None)
    return Asked(ReadyOrder(order))


def side(folder: Path, rounds: int) -> Environment:
    folder.mkdir()
    (folder / "passes.py").write_text(PASSES.format(rounds=rounds))
    return dataclasses.replace(Environment.current(), path=(str(folder),))


@pytest.mark.valgrind
@pytest.mark.nightly
def test_two_processes_agree_and_one_more_pass_is_found(tmp_path: Path) -> None:
    # 34 visits of this graph are about one per cent of compiling it.
    folders = {"base": 2, "the same, in a folder with a longer name": 2, "one": 36}
    counted, framed = {}, {}
    for name, rounds in folders.items():
        with Session(side(tmp_path / name, rounds)) as session:
            counted[name] = count_compilation(session, asked())
            if name in ("base", "one"):
                framed[name] = stacks_of_compilation(session, asked(), COMPILE_COUNTS.figures[0])
    base, same, more = counted.values()
    assert abs(same.compilation / base.compilation - 1) < LAYOUT_SHARE
    assert not any(each.has_changed for each in figure_changes(COMPILE_COUNTS, base, same))
    change = figure_changes(COMPILE_COUNTS, base, more)[0]
    assert change.has_changed
    assert 0.005 < change.share < 0.02
    places = changed_code(framed["base"], framed["one"])
    assert "passes.py" in {place.file for place in places}
    assert (base.overhead_per_call or 0.0) > 0.0
