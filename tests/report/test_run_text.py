from __future__ import annotations

from pathlib import Path

from photometer.analysis.ladder import Expectation, Ladder
from photometer.analysis.run_table import RunFailure, tabulate_run
from photometer.definition import GroupedSetup, GroupedStmts, TimerArgs
from photometer.execution.executor import Failure
from photometer.execution.run_file import failure_record, identified
from photometer.execution.steps import COUNT, TIME
from photometer.instruments.ladder import LadderStep
from photometer.instruments.ready_order import task_spec_of
from photometer.model.device_measurement import DeviceMeasurement, DeviceMode, ModeName, Source
from photometer.model.instruction_counts import InstructionCounts, InstructionFigures
from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.results_reader import Results
from photometer.plan import WorkOrders, materialize
from photometer.report.run_text import (
    render_expectations,
    render_failure,
    render_ladder,
    render_run,
    render_run_markdown,
    summary_line,
    table_of_run,
)
from photometer.report.tables.table import text_of
from tests.report.table_texts import heads

PLAN = materialize(
    {
        "maths": {
            "add with a rather long name that a narrow terminal cannot show": GroupedStmts(
                "y = x + 1",
                "auto y = x + 1;",
                GroupedSetup("x = torch.ones(2)", "auto x = torch::ones({2});"),
                signature="f(x) -> y",
                num_threads=(1, 2),
            ),
            "broken": TimerArgs("1 / 0"),
        }
    }
)


def results(plan: WorkOrders) -> Results:
    records = []
    for order in plan:
        if order.label[-1] == "broken":
            failure = Failure("SnippetError", "ZeroDivisionError: division by zero", "Traceback")
            records.append(failure_record(order, TIME, failure, 1))
            continue
        measured = Measurement(100, [1.234e-4] * 30, task_spec_of(order))
        figures = InstructionFigures(1_400_000, 1_234_500, 300)
        counts = InstructionCounts(task_spec_of(order), 100, (figures,))
        records += [identified(to_record(measured), order), identified(to_record(counts), order)]
    return Results(Path("results.json"), {}, tuple(records))


def test_time_and_instructions_stand_side_by_side() -> None:
    table = tabulate_run(results(PLAN))
    shown = table_of_run(table)
    assert [column.head for column in shown.columns] == ["", "Python", "C++", "Python instr.", "C++ instr."]
    (section,) = shown.sections
    figures = [[text_of(row.cell(column), column) for column in shown.columns[1:]] for row in section.rows]
    assert figures == [["1.234 µs", "1.234 µs", "12,345", "12,345"]] * 2 + [["failed", "", "failed", ""]]
    text = render_run(table, 120)
    assert "[2 threads]" in text
    assert "maths › broken [python]: timing failed: ZeroDivisionError: division by zero" in text
    assert (table.orders, table.measured, len(table.failures)) == (5, 4, 1)


def test_what_was_skipped_is_not_failed_and_says_why() -> None:
    order = PLAN.orders[0]
    skip = failure_record(order, TIME, Failure("SkipTest", "needs\x1b[2J AVX", skipped=True), 1)
    known = results(PLAN.only(PLAN.orders[1:]))
    table = tabulate_run(Results(Path("results.json"), {}, (*known.records, skip)))
    assert (table.measured, len(table.skips), len(table.failures)) == (3, 1, 1)
    assert summary_line(table) == "3 of 5 variants measured, 1 skipped"
    text = render_run(table, 200)
    assert "1 skipped: needs\\x1b[2J AVX (maths › add" in text
    assert "\x1b" not in text
    cells = [cell for section in table_of_run(table).sections for row in section.rows for cell in row.cells.values()]
    assert [cell.text for cell in cells].count("skipped") == 2


def test_it_fits_the_terminal() -> None:
    table = tabulate_run(results(PLAN))
    lines = render_run(table, 80).split("\n1 failed:")[0].splitlines()
    assert max(map(len, lines)) <= 80
    # Nothing is cut: what does not fit beside the others is below.
    assert "…" not in "".join(lines)
    assert sum(line.strip() == "C++ instr. 12,345" for line in lines) == 2


def test_only_what_was_measured_has_a_column() -> None:
    wanted = PLAN.only(tuple(order for order in PLAN if order.auto.words()[3] == "python"))
    whole = results(wanted)
    times = Results(whole.path, {}, tuple(r for r in whole.records if r["kind"] == "measurement"))
    assert heads(table_of_run(tabulate_run(whole))) == ["", "Python", "Python instr."]
    assert heads(table_of_run(tabulate_run(times))) == ["", "Python"]


def test_a_failed_build_names_the_compilers_error() -> None:
    log = "In function\nstmt:1:14: error: expected primary-expression\n  |  ^"
    failure = RunFailure("a [c++]", "build", "the C++ snippet does not compile", log)
    assert render_failure(failure).endswith("does not compile: stmt:1:14: error: expected primary-expression")


def test_a_time_on_the_device_has_a_column_of_its_own() -> None:
    plan = materialize(
        {
            "add": GroupedStmts(
                "y = x + 1",
                None,
                GroupedSetup("x = torch.ones(2, device=device)"),
                signature="f(x) -> y",
                devices=("cuda",),
            )
        }
    )
    (order,) = plan
    spec = task_spec_of(order)
    hot = DeviceMode(ModeName.DEVICE_HOT, (3.9e-6,) * 5, runs_per_block=10, source=Source.EVENTS)
    on_device = DeviceMeasurement(spec, "Fake", "cuda", (hot,), "launch-bound")
    records = [identified(to_record(each), order) for each in (Measurement(10, [1.2e-4] * 9, spec), on_device)]
    text = render_run(tabulate_run(Results(Path("r.json"), {}, tuple(records))), 80)
    assert text.splitlines()[1].endswith("on device")
    assert text.splitlines()[2].endswith("3.90 µs")


def test_a_time_without_its_count_is_shown_as_such() -> None:
    plan = PLAN.only(tuple(order for order in PLAN if order.label[-1] != "broken")[:1])
    (order,) = plan
    timed, _ = results(plan).records
    failed = failure_record(order, COUNT, Failure("WorkerTimeout", "not finished within 120 s"), 2)
    table = tabulate_run(Results(Path("r.json"), {}, (timed, failed)))
    assert (table.measured, table.partial) == (1, 1)
    assert summary_line(table) == "1 of 1 variants measured, 1 only in part"
    text = render_run(table, 200)
    assert "1.234 µs" in text
    assert "counting failed (it was timed): not finished within 120 s" in text


def test_marks_are_few_and_the_machine_is_told_once() -> None:
    plan = materialize({"all": {f"number {i}": TimerArgs(f"x + {i}") for i in range(40)}})
    records = []
    for place, order in enumerate(plan):
        # All scatter, and one far more than the rest.
        step = 0.3 if place == 7 else 0.04
        times = [1e-4 * (1 + step * (i % 10)) for i in range(40)]
        records.append(identified(to_record(Measurement(100, times, task_spec_of(order))), order))
    table = tabulate_run(Results(Path("r.json"), {}, tuple(records)))
    text = render_run(table, 100)
    assert text.startswith("? 40 of 40 times are doubtful (wide-spread in 40).")
    assert "photometer doctor" in text
    assert table.doubtful == 1
    assert "? 1 time is more doubtful than the rest:" in text
    assert "all › number 7 (Python): The interquartile range" in text


def test_few_doubtful_rows_are_each_marked_and_nothing_is_said_of_the_machine() -> None:
    plan = materialize({"all": {f"number {i}": TimerArgs(f"x + {i}") for i in range(40)}})
    records = []
    for place, order in enumerate(plan):
        step = 0.05 if place < 2 else 0.0001
        times = [1e-4 * (1 + step * (i % 10)) for i in range(40)]
        records.append(identified(to_record(Measurement(100, times, task_spec_of(order))), order))
    table = tabulate_run(Results(Path("r.json"), {}, tuple(records)))
    assert (table.machine, table.doubtful) == ("", 2)


def test_rows_are_in_the_order_of_the_suite_and_sizes_are_rows() -> None:
    plan = materialize(
        {
            "add": GroupedStmts(
                "y = x + 1", None, GroupedSetup("x = torch.ones(n)"), signature="f(x) -> y", sizes={"n": (8, 16, 4)}
            )
        }
    )
    whole = results(plan)
    header = {"run": {"orders": [order.id for order in plan]}}
    table = tabulate_run(Results(whole.path, header, tuple(reversed(whole.records))))
    names = [row.name for section in table.sections for row in section.rows]
    assert [name.partition(" ")[2] for name in names] == [f"[n={n}]" for n in (8, 16, 4)]


def test_markdown_has_the_same_rows() -> None:
    text = render_run_markdown(tabulate_run(results(PLAN)))
    assert "| Python | C++ | Python instr. | C++ instr. |" in text
    assert "| 1.234 µs | 1.234 µs | 12,345 | 12,345 |" in text


def test_a_label_with_line_breaks_stays_in_its_row() -> None:
    plan = materialize({"two\nlines": {"and\r\nthree\x1b": TimerArgs("1")}})
    lines = render_run(tabulate_run(results(plan)), 100).splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("two\\nlines")
    assert lines[2].startswith("  and\\nthree\\x1b")
    assert lines[2].endswith("12,345")


LADDER = Ladder(
    (
        LadderStep("torch.add", "Tensor", None, 1.146e-6, instructions=4012.4),
        LadderStep("torch.add", "SubTensor", "Tensor", 5.1e-6, 3.96e-6, (3.84e-6, 4.05e-6), 20_010.0, 15_997.6),
        LadderStep("meth|od", "Broken", "Tensor"),
    )
)


def test_columns_are_aligned_and_figures_have_their_interval() -> None:
    lines = render_ladder(LADDER).splitlines()
    head, ground, sub = lines[1:4]
    assert " ".join(sub.split()) == "SubTensor 5.100 µs +3.96 µs +3.84 µs to +4.05 µs 20,010 +15,998 Tensor"
    assert head.index("instructions") + len("instructions") == sub.index("20,010") + len("20,010")
    assert " ".join(ground.split()) == "Tensor 1.146 µs 4,012"
    assert ground.index("1.146 µs") == sub.index("5.100 µs")


def test_what_is_not_known_is_a_dash() -> None:
    assert render_ladder(LADDER).splitlines()[-1].split() == ["Broken", "-", "-", "Tensor"]


def test_expectations_are_one_line_each() -> None:
    text = render_expectations([Expectation("a", "b", True), Expectation("c", "d", False)])
    assert text == "a: b: as expected\nc: d: NOT as expected\n"


def test_nothing_is_an_empty_ladder() -> None:
    assert render_ladder(Ladder(())) == "\n"


def test_names_of_users_are_escaped() -> None:
    step = LadderStep("a\x1b\nb", "c\x00", "d\u202e", 1e-6, 1e-7)
    assert r"a\x1b\nb" in render_ladder(Ladder((step,)))
    assert r"c\x00" in render_ladder(Ladder((step,)))
    assert not set(render_ladder(Ladder((step,)))) & set("\x1b\x00\u202e")
