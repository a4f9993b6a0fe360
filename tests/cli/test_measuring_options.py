"""`--timeout` and `--budget`: one meaning in every command, and what a statement that hangs does to `ab`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from photometer.cli.time import shares
from photometer.comparing.request import ComparisonRequest, ComparisonSettings
from photometer.comparing.statements import ab
from photometer.errors import DefinitionError, WorkerTimeout
from tests.photometer_command import status_of

SUITE = """
from photometer import GroupedStmts
BENCHMARKS = {"a": GroupedStmts("pass", cpp_stmt=None), "own": GroupedStmts("pass", timeout_seconds=7.0)}
"""


@pytest.fixture
def suite(tmp_path: Path) -> str:
    path = tmp_path / "suite.py"
    path.write_text(SUITE, encoding="utf-8")
    return str(path)


def test_orders_have_the_timeout_of_a_comparison_unless_they_have_their_own(suite: str) -> None:
    request = ComparisonRequest(("current", "current"), suite, ComparisonSettings(timeout_seconds=3.5))
    assert request.planned is not None
    assert {order.label[0]: order.timeout_seconds for order in request.planned.plan} == {"a": 3.5, "own": 7.0}


def seen_by(monkeypatch: pytest.MonkeyPatch, place: str, find: Callable[..., float]) -> list[float]:
    """Put something in the place of what a command calls, which notes the timeout and ends the command."""
    seen: list[float] = []

    def note(*args: Any, **options: Any) -> Any:
        seen.append(find(*args, **options))
        raise SystemExit(0)

    monkeypatch.setattr(place, note)
    return seen


@pytest.mark.parametrize(
    ("words", "place", "find"),
    [
        ("compare current current", "photometer.comparing.environments.live_comparison", "settings"),
        ("calibrate", "photometer.comparing.calibrate.live_comparison", "settings"),
        ("bisect HEAD HEAD --metric time", "photometer.commits.search.find_first", "request"),
        (
            "history measure git:A..B --store STORE --no-instructions",
            "photometer.commits.range_run.run_range",
            "request",
        ),
    ],
)
def test_commands_pass_it_on(
    words: str, place: str, find: str, suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = seen_by(
        monkeypatch,
        place,
        lambda request, *_, **__: (request.settings if find == "settings" else request).timeout_seconds,
    )
    given = words.replace("STORE", str(tmp_path / "store.sqlite")).split()
    assert status_of(*given, "--suite", suite, "--timeout", "3.5") == 0
    assert seen == [3.5]


def test_flame_passes_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.instruments.py_spy.find_py_spy", lambda: "")
    seen = seen_by(monkeypatch, "photometer.flames.draw_suite", lambda *_, timeout, **__: float(timeout))
    assert status_of("flame", "pass", "--timeout", "3.5") == 0
    assert seen == [3.5]


@pytest.mark.lengthy
def test_ab_gives_up_a_statement_that_hangs() -> None:
    with pytest.raises(WorkerTimeout, match="no reply within"):
        ab("pass", "time.sleep(600)", setup="import time", timeout=0.5)


def test_ab_gives_up_a_callable_that_hangs() -> None:
    with pytest.raises(WorkerTimeout, match="no reply within"):
        ab("pass", "event.wait(600)", globals={"event": threading.Event()}, timeout=0.5)


def test_a_timeout_is_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DefinitionError, match="timeout"):
        ab("1", "2", timeout=0.0)
    with pytest.raises(DefinitionError, match="timeout"):
        ComparisonSettings(timeout_seconds=-1.0)
    assert status_of("ab", "1", "2", "--device", "cuda", "--timeout", "3") == 2
    assert "--limit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ((None, 2, 0.2, None, None), {"min_run_time": 0.2, "precision": None}),
        ((8.0, 2, 0.2, 0.01, None), {"min_run_time": 0.2, "precision": 0.01, "max_run_time": 4.0}),
        ((0.2, 2, 0.2, None, None), {"min_run_time": 0.1, "precision": None, "max_run_time": 0.1}),
        ((10.0, 2, 0.2, None, "cuda"), {"min_run_time": 0.2, "precision": None, "max_run_time": 1.0}),
    ],
)
def test_the_budget_of_time_is_for_all_statements_and_modes(options: tuple[Any, ...], times: dict[str, Any]) -> None:
    assert shares(*options) == times
