"""`photometer report`: files in, one page out."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.cli import main
from photometer.model.results_file import ResultsFile
from tests.photometer_command import status_of
from tests.report.page.fake_results import MACHINE, comparison_records, run_records


def run(*arguments: str | Path) -> int:
    return status_of("report", *arguments)


def test_a_folder_of_a_run_gets_its_page_beside_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ResultsFile.create(
        tmp_path / "results.json", {"run": {"suite": "standard"}}, machine=MACHINE, records=run_records()
    )
    assert run(tmp_path) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Standard suite" in page
    assert "166 variants measured; 2 failed" in capsys.readouterr().out


def test_output_title_and_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from photometer.instruments import browser

    monkeypatch.setattr(browser, "NAMES", ())
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    ResultsFile.create(tmp_path / "comparison.json", records=comparison_records())
    page = tmp_path / "page" / "report.html"
    assert (
        run(tmp_path / "comparison.json", "-o", page.parent, "--title", "Mine & yours", "--plots", tmp_path / "plots")
        == 0
    )
    assert "<h1>Mine &amp; yours</h1>" in page.read_text(encoding="utf-8")
    captured = capsys.readouterr()
    assert "forest.svg" in captured.out
    assert "No PNG files" in captured.err
    assert (tmp_path / "plots" / "forest.svg").exists()


def test_what_cannot_be_read_or_written_is_told_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "nothing.json") == 1
    assert "there is no such file" in capsys.readouterr().err
    assert run(tmp_path) == 1
    assert "is a folder" in capsys.readouterr().err
    ResultsFile.create(tmp_path / "results.json", records=comparison_records()[:5])
    assert run(tmp_path, "-o", tmp_path / "results.json" / "page") == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_torn_file_is_shown_as_far_as_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    ResultsFile.create(path, records=run_records()[:6])
    path.write_bytes(path.read_bytes()[:-200])
    assert run(path) == 1
    assert run(path, "--recover") == 0
    assert "not a whole record" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [("report",), ("show",), ("convert",)])
def test_the_password_of_a_url_is_not_shown(command: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "postgresql://someone:hunter2@localhost/history"])
    printed = "".join(capfd.readouterr())
    assert ended.value.code == 1
    assert "hunter2" not in printed
    assert "URL" in printed
