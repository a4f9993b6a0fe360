"""What `ab` found, kept: in a file that `show` prints as `ab` did, and in a history store, once."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import photometer
from photometer.cli import main
from photometer.comparing.ab_findings import AbFindings
from photometer.comparing.statements import AbStages
from photometer.history.store import open_store
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.task import TaskSpec

from .test_ab import Measured, ab, measured

__all__ = ["measured"]


def memories(stages: AbStages, found: AbFindings) -> AbFindings:
    """Return what one run allocates: a block more for each statement."""
    uses = [
        MemoryMeasurement(TaskSpec(contender.stmt), (MemoryFigures(4096, 4096 * number, number),) * 3)
        for number, contender in enumerate(found.request.contenders, start=1)
    ]
    return dataclasses.replace(found, memories=tuple(uses))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "history.sqlite"
    open_store(path, create=True).close()
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(["show", *arguments])
    assert not end.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("format", ["terminal", "markdown", "csv", "json"])
def test_show_prints_a_file_of_ab_as_ab_printed_it(
    measured: Measured,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    format: str,
) -> None:
    monkeypatch.setattr(AbStages, "measure_memory", memories)
    folder = str(tmp_path / "kept")
    options = () if format == "terminal" else (f"--{format}",)
    _, printed, _ = ab(capsys, "a", "b", "c", "--memory", "-q", "-o", folder, *options)
    assert shown(capsys, folder, *options) == printed
    if format == "json":
        assert [each["task_spec"]["stmt"] for each in json.loads(printed)["memory"]] == ["a", "b", "c"]
    elif format != "csv":
        assert "slower" in printed
        assert "c: allocates 8.0 KiB more (from 4.0 KiB to 12.0 KiB), in 2 more blocks" in printed


def test_what_a_store_has_is_not_added_again_from_its_file(
    measured: Measured,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    store: Path,
) -> None:
    path = tmp_path / "kept" / "results.json"
    ab(capsys, "a", "b", "-q", "-o", str(path.parent), "--store", str(store))
    with pytest.raises(SystemExit):
        main(["history", "add", str(path), "--store", str(store)])
    with open_store(store, read_only=True) as opened:
        (run,) = opened.runs()
        (comparison,) = opened.comparisons()
    assert run.kind == "ab"
    assert comparison.verdict == "slower"


def test_ab_of_python_writes_to_the_store_that_is_named_or_the_projects(
    measured: Measured,
    monkeypatch: pytest.MonkeyPatch,
    store: Path,
) -> None:
    photometer.ab("a", "b", store=str(store))
    monkeypatch.setenv("PHOTOMETER_STORE", str(store))
    photometer.ab("a", "b")
    photometer.ab("a", "b", store="none")
    with open_store(store, read_only=True) as opened:
        assert [run.kind for run in opened.runs()] == ["ab", "ab"]


def test_a_store_of_the_project_that_cannot_be_used_is_said_and_ends_nothing(
    measured: Measured,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("PHOTOMETER_STORE", str(tmp_path / "nowhere.sqlite"))
    with pytest.warns(UserWarning, match="results are not stored"):
        assert photometer.ab("a", "b").verdict == "slower"
    with pytest.raises(photometer.PhotometerError):
        photometer.ab("a", "b", store=str(tmp_path / "nowhere.sqlite"))
    monkeypatch.delenv("PHOTOMETER_STORE")
    (tmp_path / "pyproject.toml").write_text("[tool.photometer]\nnonsense = 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="results are not stored"):
        assert photometer.ab("a", "b").verdict == "slower"


def test_the_limit_counts_from_the_start_of_the_command(
    measured: Measured,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ab(capsys, "x", "x + n", "-L", "n=1,2", "--limit", "100")
    first, second = measured.requests
    # One start for all points of a sweep.
    assert first.stopping.began == second.stopping.began
