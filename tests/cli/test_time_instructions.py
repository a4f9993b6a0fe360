"""What `photometer time --instructions` prints, from profiles that lie in files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from photometer.cli.output_options import TERMINAL, Wanted
from photometer.cli.time import REPEATS, _Asked as Asked, _print_instructions as print_instructions
from photometer.errors import SnippetError
from photometer.instruments import processor_instructions
from photometer.instruments.callgrind import counter
from photometer.instruments.callgrind.count_task import CountedTask, CountTask
from photometer.instruments.callgrind.counter import COUNTS
from photometer.model.run_figures import ProcessorCounts
from photometer.model.task import TaskSpec
from photometer.report.tables.formats import JSON
from photometer.session.session import ServerKind
from photometer.worker.messages import Prepare
from tests.instruments.callgrind import GOLDEN, parse_profile


class FakeTimer:
    def __init__(self, stmt: str, file: str) -> None:
        self.task_spec = TaskSpec(stmt, "pass")
        self._file = file

    def _count(self, number: int, repeats: int) -> CountedTask:
        if self._file == "fails":
            raise ZeroDivisionError("division by zero")
        profile = parse_profile(GOLDEN / self._file)
        return CountedTask(CountTask(self.task_spec, number=number, repeats=repeats), (profile,) * repeats, profile)

    def count_by_processor(self, number: int) -> ProcessorCounts:
        return ProcessorCounts(self.task_spec, number, (5000,), (1000,))


def timers(*files: str) -> list[Any]:
    return [FakeTimer(f"statement {i}", file) for i, file in enumerate(files)]


@pytest.fixture(autouse=True)
def no_perf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_instructions, "perf_refusal", lambda: "There is no counter.")


def test_one_statement_has_its_top_functions(capsys: pytest.CaptureFixture[str]) -> None:
    print_instructions(timers("plain.out"), 100, Asked(Wanted(TERMINAL)))
    shown = capsys.readouterr()
    assert "Where statement 0 executes them" in shown.out
    assert "_int_free" in shown.out
    assert "There is no counter." in shown.err


def test_two_statements_have_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    print_instructions(timers("plain.out", "no_symbols.out"), 100, Asked(Wanted(TERMINAL)))
    shown = capsys.readouterr().out
    assert "What differs" in shown
    assert "difference" in shown
    assert "Where" not in shown


def test_three_statements_have_their_functions_one_after_another(capsys: pytest.CaptureFixture[str]) -> None:
    print_instructions(timers("plain.out", "plain.out", "plain.out"), 100, Asked(Wanted(TERMINAL)))
    assert capsys.readouterr().out.count("executes them") == 3


def test_json_is_one_record_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_instructions(timers("plain.out", "plain.out"), 100, Asked(Wanted(JSON)))
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["task_spec"]["stmt"] for record in records] == ["statement 0", "statement 1"]
    assert all(len(record["repeats"]) == REPEATS for record in records)


def test_the_second_source_is_shown_where_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processor_instructions, "perf_refusal", lambda: None)
    print_instructions(timers("plain.out"), 100, Asked(Wanted(TERMINAL)))
    assert "40.00  statement 0" in capsys.readouterr().out


def test_a_failing_statement_is_an_error_of_ours() -> None:
    with pytest.raises(SnippetError, match="statement 0") as caught:
        print_instructions(timers("fails"), 100, Asked(Wanted(TERMINAL)))
    assert "ZeroDivisionError" in str(caught.value)


@pytest.mark.parametrize(
    ("cores", "threads", "started_on"), [((0,), 1, []), ((0, 1), 1, [(0,)]), ((0, 1), 2, []), ((0, 2, 4), 2, [(0,)])]
)
def test_the_counters_server_starts_ahead_unless_timing_needs_all_cores(
    monkeypatch: pytest.MonkeyPatch,
    cores: tuple[int, ...],
    threads: int,
    started_on: list[tuple[int, ...]],
) -> None:
    started: list[tuple[int, ...]] = []

    class Started:
        def start_ahead(self, kinds: Iterable[ServerKind], cores: Sequence[int]) -> None:
            assert list(kinds) == [COUNTS]
            started.append(tuple(cores))

    monkeypatch.setattr(counter, "usable_cores", lambda: cores)
    counter.start_counter_ahead(Started(), [Prepare("a"), Prepare("b")], threads)  # type: ignore[arg-type]
    assert started == started_on
