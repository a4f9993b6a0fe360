"""`photometer doctor`: what it prints, writes and returns; the picture in text and SVG."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from photometer.cli import main
from photometer.doctor import examine as examining
from photometer.doctor.finding import Examination, Finding, State
from photometer.doctor.noise_test import NoiseTest, Visit, Work
from photometer.report.examination import doctor_page, noise_svg, render_examination, strip_lines
from tests.photometer_command import status_of

NOISE = NoiseTest(
    10.0,
    tuple(Visit(i / 4, core, work, 1.0 if i < 20 else 2.5, 0.1) for i in range(40) for core in (0, 1) for work in Work),
)
GOOD = Finding("cores", State.GOOD, "2 cores")
BAD = Finding("governor", State.FIX, "powersave <b>on\x1b", "As root: photometer doctor --tune.")


def command(monkeypatch: pytest.MonkeyPatch, examination: Examination, *arguments: object) -> int:
    monkeypatch.setattr(examining, "examine", lambda **_: examination)
    return status_of("doctor", *arguments)


def test_the_exit_status_says_whether_something_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, Examination((GOOD,))) == 0
    assert "No problems found." in capsys.readouterr().out
    assert command(monkeypatch, Examination((GOOD, BAD))) == 1
    out = capsys.readouterr().out
    assert "1 problem: governor." in out
    assert "--tune" in out
    assert "\x1b" not in out


def test_json_has_findings_states_and_visits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, Examination((GOOD, BAD), NOISE), "--json") == 1
    read = json.loads(capsys.readouterr().out)
    assert read["good"] is False
    assert [finding["state"] for finding in read["findings"]] == ["good", "fix"]
    assert len(read["noise"]["visits"]) == 160
    assert read["noise_summary"]["memory"]["best_share"] == 0.5


def test_it_writes_a_page_and_the_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert command(monkeypatch, Examination((GOOD,), NOISE), "-o", tmp_path / "out") == 0
    assert (tmp_path / "out" / "doctor.html").stat().st_size > 100
    assert (tmp_path / "out" / "noise.svg").stat().st_size > 100


def test_a_file_in_place_of_a_folder_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert command(monkeypatch, Examination(()), "-o", tmp_path / "doctor.html") == 2
    assert command(monkeypatch, Examination(()), "--noise-seconds", -1) == 2


def test_strips_show_the_states_over_time() -> None:
    lines = strip_lines(NOISE, 80)
    assert lines[0].startswith("core 0 computing")
    strip = lines[0].split(maxsplit=3)[3]
    assert strip[0] == "▁"
    assert strip[-1] == "█"
    assert abs(strip.index("█") - len(strip) // 2) <= 2
    assert all(len(line) <= 80 for line in lines[:5])


def test_the_picture_is_whole_and_names_nothing_outside() -> None:
    tree = ElementTree.fromstring(noise_svg(NOISE))
    circles = tree.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == len(NOISE.visits) + len(NOISE.cores)


def test_the_page_escapes_what_it_shows() -> None:
    page = doctor_page(Examination((GOOD, BAD), NOISE))
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "default-src &#39;none&#39;" in page


def test_the_page_begins_with_what_disturbs() -> None:
    page = doctor_page(Examination((GOOD, BAD), NOISE))
    heads = ("What disturbs measurements", "The noise test", "What else was examined")
    assert sorted(heads, key=page.index) == list(heads)
    assert "var(--line-0)" in page
    assert "What disturbs" not in doctor_page(Examination((GOOD,)))


def test_text_fits_a_narrow_terminal() -> None:
    text = render_examination(Examination((GOOD, BAD), NOISE), 60)
    assert all(len(line) <= 60 for line in text.splitlines()[:8])


@pytest.mark.lengthy
def test_this_machine_is_examined_for_real(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", "--noise-seconds", "0.4", "--json"])
    assert stopped.value.code in (0, 1)
    topics = {finding["topic"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    wanted = {"cores", "governor", "neighbours", "noise (computing)", "noise (memory)", "address layout", "memory"}
    wanted |= {"perf counters", "Valgrind", "C++ compiler", "py-spy", "free disk", "torch", "torch's threads"}
    assert wanted <= topics
    assert any(topic.startswith("GPU") for topic in topics)
