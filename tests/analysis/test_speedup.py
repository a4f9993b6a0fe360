"""Speed-ups over eager, and the rows and texts that have them."""

from __future__ import annotations

import math

import pytest

from photometer.analysis.speedup import RuntimeRow, runtime_rows
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.execution.run_file import identified
from photometer.instruments.contest import PairedTimes
from photometer.instruments.ready_order import task_spec_of
from photometer.instruments.speedup import Speedup, runtime_groups
from photometer.model.compile_report import CompileReport, GraphBreak, Recompilation
from photometer.model.measurement import Measurement
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
from photometer.plan import materialize
from photometer.report.page.view_figures import compile_table
from photometer.report.runtime_text import render_compile_report, render_runtimes, speedup_text, table_of_runtimes
from tests.report.table_texts import heads, texts

PLAN = materialize(
    {
        "mul": GroupedStmts(
            "y = x * 2",
            setup=GroupedSetup("x = torch.ones(4)"),
            signature="f(x) -> y",
            torchscript=True,
            compiled=["default", "reduce-overhead"],
        ),
        "plain": GroupedStmts("y = 1", torchscript=False),
    }
)
EAGER, SCRIPTED, COMPILED, REDUCED, _ = PLAN.orders
REPORT = CompileReport(
    TaskSpec("f(x)"),
    graphs=2,
    compile_seconds=9.0,
    warm_compile_seconds=1.0,
    breaks=(GraphBreak("Unsupported item()", "/home/\x1b[31mmodel.py", 3, "if y.item():", "Do not.", 2),),
    recompilations=(Recompilation("f", "size mismatch"),),
    guards=7,
    guard_seconds=1e-6,
    swept=True,
)


def test_half_the_time_is_twice_as_fast() -> None:
    found = Speedup.of(COMPILED, EAGER, PairedTimes(1e-6, 0.5, (0.4, 0.625), 5))
    assert found.speedup == pytest.approx(2.0)
    assert found.interval == pytest.approx((1.6, 2.5))
    assert found.seconds == pytest.approx(0.5e-6)
    assert speedup_text(found) == "2.00× (1.60× to 2.50×)"


def test_an_open_interval_stays_open() -> None:
    found = Speedup.of(COMPILED, EAGER, PairedTimes(1e-6, 1.0, (0.0, math.inf), 1))
    assert found.interval == (0.0, math.inf)
    assert from_record(Speedup, to_record(found)) == found
    assert "any" in speedup_text(found)


def test_groups_have_an_eager_and_a_compiled_variant() -> None:
    (group,) = runtime_groups(PLAN)
    assert (group.eager, group.torchscript, group.compiled) == (EAGER, SCRIPTED, (COMPILED, REDUCED))
    assert group.others == (SCRIPTED, COMPILED, REDUCED)


def records() -> list[dict[str, object]]:
    times = {EAGER: 2e-6, SCRIPTED: 4e-6, COMPILED: 9e-6}
    measured = [identified(to_record(Measurement(1, [time], task_spec_of(o))), o) for o, time in times.items()]
    speedup = to_record(Speedup.of(COMPILED, EAGER, PairedTimes(1e-6, 0.5, (0.498, 0.502), 5)))
    return [*measured, identified(to_record(REPORT), COMPILED), speedup]


def test_rows_prefer_the_times_of_the_pairs() -> None:
    plain, reduced = runtime_rows(PLAN, records())
    assert (plain.name, plain.variant, reduced.variant) == ("mul", "", "reduce-overhead")
    assert plain.eager_seconds == pytest.approx(1e-6)
    assert plain.seconds == pytest.approx(0.5e-6)
    assert plain.torchscript_seconds == pytest.approx(4e-6)
    assert plain.report == REPORT
    assert (reduced.seconds, reduced.speedup, reduced.report) == (None, None, None)


def test_a_time_of_an_order_without_an_id_belongs_to_no_row() -> None:
    nameless = {**records()[0], "order": {}}
    assert runtime_rows(PLAN, [nameless]) == runtime_rows(PLAN, [])


def test_the_table_names_what_was_met_and_nothing_of_the_users_is_shown_raw() -> None:
    text = render_runtimes(runtime_rows(PLAN, records()), 100)
    assert "2.00× (1.99× to 2.01×)" in text
    assert "9.00 s" in text
    assert "graph break at /home/" in text
    assert "(2 times): Unsupported item()" in text
    assert "| if y.item():" in text
    assert "recompiled f: size mismatch" in text
    assert "\x1b" not in text
    assert render_runtimes([], 100) == ""


def test_rows_without_anything_measured_are_dashes() -> None:
    assert texts(table_of_runtimes([RuntimeRow("mul", "")])) == [["mul", "-", "-", "-"]]


def test_a_report_by_itself() -> None:
    text = render_compile_report(REPORT, 80)
    assert "2 graphs, 2 graph breaks" in text
    assert "9.00 s with an empty cache, 1.00 s with a full one" in text
    assert "guards take 1.00 µs per call (7 guards)" in text
    assert "1 recompilation over the other sizes" in text
    assert "\x1b" not in text
    clean = CompileReport(TaskSpec("f(x)"), graphs=1)
    assert "1 graph, no graph breaks" in render_compile_report(clean, 80)


def test_the_page_has_a_row_per_compiled_benchmark() -> None:
    table = compile_table(records())
    (row,) = [dict(zip(heads(table), row, strict=True)) for row in texts(table)]
    assert (row["benchmark"], row["eager"], row["compiled"]) == ("mul [compiled]", "1.00 µs", "500 ns")
    assert row["speed-up"] == "2.00× (1.99× to 2.01×)"
    assert (row["graphs"], row["breaks"], row["recompiled"]) == ("2", "2", "1")
    assert any("Unsupported item()" in note for note in table.notes)
    assert compile_table([]).rows == ()
