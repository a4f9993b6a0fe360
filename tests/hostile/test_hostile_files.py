"""`show`, `report` and `compare` on files that anyone may have written: clean output, or an error in words."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from photometer.cli.ci_output import CiFiles
from photometer.cli.compare import Flames, _compare, _Shown
from photometer.cli.output_options import TERMINAL, Wanted
from photometer.cli.show import _measurements, _others, _render
from photometer.comparing.request import ComparisonRequest
from photometer.errors import PhotometerError
from photometer.model.results_reader import load_results
from photometer.report.page.page import render_report
from photometer.report.page.view_report import report_view
from photometer.report.tables.formats import FORMATS, JSON
from photometer.report.verdict_text import render_verdicts, render_verdicts_markdown
from photometer.tables import Compare
from tests.cli.hostile_records import EXAMPLE, SAMPLES, at, documents
from tests.photometer_command import photometer

pytestmark = pytest.mark.lengthy

TRIED = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def written(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "hostile.json"
    # As a hostile program may write it: NaN and Infinity spelled out, whole numbers of any length.
    path.write_text(json.dumps(document, allow_nan=True))
    return path


def show(path: Path) -> None:
    results = load_results(path, recover=True)
    for by_file in (False, True):
        name = path.stem if by_file else None
        comparison = Compare([*_measurements(results, name), *_others(results, name)])
        comparison.trim_significant_figures()
        comparison.colorize(rowwise=by_file)
        comparison.highlight_warnings()
        comparison.relative(style="%" if by_file else "×")
        for kind in (TERMINAL, *FORMATS):
            checked(_render(comparison, kind, [], colour=False))


def report(path: Path) -> None:
    view = report_view([load_results(path, recover=True)], None)
    assert "\x00" not in render_report(view)


def compare(path: Path) -> None:
    request = ComparisonRequest((str(path), str(path)))
    comparison, _ = _compare(request, _Shown(Flames.NONE, None, Wanted(JSON), CiFiles(), None, None))
    checked(render_verdicts(comparison, 80, colour=False))
    checked(render_verdicts_markdown(comparison))


def checked(text: str) -> None:
    assert not [c for c in text if (ord(c) < 32 and c not in "\r\n") or c in "\x7f\x9b\u202e\ud800"]


def clean_or_refused(action: Callable[[Path], None], path: Path) -> None:
    with contextlib.suppress(PhotometerError):
        action(path)


@pytest.mark.parametrize("action", [show, report, compare])
def test_the_example_itself_is_right(action: Callable[[Path], None], tmp_path: Path) -> None:
    action(written(tmp_path, EXAMPLE))


@TRIED
@given(document=documents())
def test_show(document: dict[str, Any], tmp_path: Path) -> None:
    clean_or_refused(show, written(tmp_path, document))


@TRIED
@given(document=documents())
def test_report(document: dict[str, Any], tmp_path: Path) -> None:
    clean_or_refused(report, written(tmp_path, document))


@TRIED
@given(document=documents())
def test_compare(document: dict[str, Any], tmp_path: Path) -> None:
    clean_or_refused(compare, written(tmp_path, document))


EXTREMES: list[Any] = [0, 5e-324, 1e-300, 1e29, 1e308, 10**400, -1, float("nan"), float("inf"), "\ud800"]


@pytest.mark.parametrize("number", EXTREMES, ids=lambda number: repr(number)[:12])
def test_all_samples_alike(number: Any, tmp_path: Path) -> None:
    document = json.loads(json.dumps(EXAMPLE))
    for place in SAMPLES:
        holder = at(document, place[:-1])
        holder["raw_times"] = [number] * len(holder["raw_times"])
    path = written(tmp_path, document)
    for action in (show, report, compare):
        clean_or_refused(action, path)


@pytest.mark.parametrize("number", [0, 1e308, 10**400], ids=["zero", "large", "400 digits"])
def test_real_commands_end_in_words(number: Any, tmp_path: Path) -> None:
    document = json.loads(json.dumps(EXAMPLE))
    document["records"][0]["raw_times"] = [number] * 9
    path = str(written(tmp_path, document))
    for words in (["show", path], ["report", path], ["compare", path, path]):
        done = photometer(*words, cwd=tmp_path)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 4), done.stderr
        assert done.returncode != 1 or path in done.stderr + done.stdout, done.stderr
