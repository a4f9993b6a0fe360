"""The loop: it runs what it is given, so often as it is told, and tells the user's line when it fails."""

from __future__ import annotations

import gc
import timeit
import traceback

import pytest

from photometer.worker.python_loop import PythonLoop


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_runs_the_statement_exactly_so_often() -> None:
    seen: list[int] = []
    loop = PythonLoop("seen.append(k)", "k = 7", globals={"seen": seen})
    loop.timeit(5)
    loop.timeit(0)
    assert seen == [7] * 5


def test_answers_the_clock_difference_around_the_loop_alone() -> None:
    clock = FakeClock()

    def step(seconds: float) -> None:
        clock.now += seconds

    loop = PythonLoop("step(2.0)", "step(100.0)", timer=clock, globals={"step": step})
    assert loop.timeit(3) == 6.0


def test_setup_runs_anew_for_each_timeit_and_once_for_open_blocks() -> None:
    calls: list[str] = []
    loop = PythonLoop("calls.append('s')", "calls.append('u')", globals={"calls": calls})
    loop.timeit(1)
    loop.timeit(2)
    assert calls == ["u", "s", "u", "s", "s"]
    calls.clear()
    with loop.open_blocks() as run_block:
        run_block(1)
        run_block(2)
    assert calls == ["u", "s", "s", "s"]


def test_variables_of_setup_are_the_statements() -> None:
    out: list[int] = []
    loop = PythonLoop("total += x\nout.append(total)", "x = 2; total = 1", globals={"out": out})
    loop.timeit(3)
    assert out == [3, 5, 7]


def test_strings_over_several_lines_keep_their_content() -> None:
    out: list[str] = []
    PythonLoop("out.append('''a\n  b\nc''')", globals={"out": out}).timeit(1)
    assert out == ["a\n  b\nc"]


def test_traceback_shows_the_users_line() -> None:
    loop = PythonLoop("y = x + 1\nz = y.no_such_thing", "x = 3\n# two\n# three")
    with pytest.raises(AttributeError) as caught:
        loop.timeit(1)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.line == "z = y.no_such_thing"


@pytest.mark.parametrize(("stmt", "setup", "where"), [("y = = 1", "pass", "<stmt>"), ("pass", "if:", "<setup>")])
def test_syntax_errors_name_the_text(stmt: str, setup: str, where: str) -> None:
    with pytest.raises(SyntaxError) as caught:
        PythonLoop(stmt, setup)
    assert caught.value.filename == where


def test_statements_that_leave_the_loop_are_refused_as_timeit_does() -> None:
    for bad in ("return 1", "break"):
        with pytest.raises(SyntaxError):
            PythonLoop(bad)
        with pytest.raises(SyntaxError):
            timeit.Timer(bad)


@pytest.mark.parametrize("was_on", [True, False])
def test_collector_is_off_in_the_loop_and_restored_after_an_exception(was_on: bool) -> None:
    seen: list[bool] = []
    loop = PythonLoop("seen.append(gc.isenabled()); 1 / 0", globals={"seen": seen, "gc": gc})
    before = gc.isenabled()
    try:
        gc.enable() if was_on else gc.disable()
        with pytest.raises(ZeroDivisionError):
            loop.timeit(1)
        assert gc.isenabled() is was_on
    finally:
        gc.enable() if before else gc.disable()
    assert seen == [False]


def test_same_arguments_as_timeit() -> None:
    for cls in (PythonLoop, timeit.Timer):
        assert cls(stmt="x", setup="x = 1", timer=timeit.default_timer, globals={}).timeit(1) > 0
