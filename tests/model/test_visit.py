"""The journal of visits: what it gives back, what it refuses, and what of an interrupted run can be shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from photometer.analysis.run_table import tabulate_run
from photometer.model.measurement import Measurement
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import Results, load_results
from photometer.model.visit import Visit, VisitJournal, unfinished_in, with_unfinished
from photometer.report.run_text import render_run, summary_line

VISIT = Visit(1000, (0.001, 0.0011, 0.001), whole_seconds=0.1)


def about(name: str) -> dict[str, object]:
    order = {"id": name, "label": ["group", name], "auto": {"language": "python"}}
    return {"task_spec": {"stmt": f"x {name} 1", "setup": "pass"}, "order": order}


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """A run of four orders: one is finished, one failed, one has two visits, and one was not begun."""
    header = {"run": {"id": "mine", "suite": "s", "orders": ["done", "failed", "begun", "later"]}}
    file = ResultsFile.create(tmp_path / "results.json", header)
    file.append({"kind": "measurement", "number_per_run": 1, "raw_times": [1e-6] * 9, **about("done")})
    file.append({"kind": "failure", "step": "time", "message": "it broke", **about("failed")})
    journal = VisitJournal(tmp_path, "mine")
    for name in ("done", "failed", "begun"):
        journal.add(name, VISIT, about(name))
    journal.add("begun", VISIT)
    return file.path


def test_visits_of_another_run_and_nonsense_are_not_read(tmp_path: Path) -> None:
    VisitJournal(tmp_path, "other").add("a", VISIT)
    mine = VisitJournal(tmp_path, "mine")
    mine.add("b", VISIT)
    with mine.path.open("a") as file:
        file.write('nonsense\n{"run": "mine", "order": "c", "visit": {"kind": "visit", "number_per_run": -1}}\n[]\n')
    assert {name: each.visits for name, each in VisitJournal(tmp_path, "mine").read().items()} == {"b": (VISIT,)}
    assert VisitJournal(tmp_path, "mine").read(finished={"b"}) == {}


def test_an_order_with_some_of_its_visits_is_shown_and_the_rest_is_a_count(interrupted: Path) -> None:
    known = with_unfinished(load_results(interrupted))
    assert [len(m.visits) for m in known.of(Measurement)] == [0, 2]
    assert unfinished_in(known) == 1
    table = tabulate_run(known)
    text = render_run(table, 100)
    assert "~ 1.000 µs" in text
    assert "1 time is not final" in text
    assert summary_line(table) == "2 of 4 variants measured, 1 not to the end"


def test_a_file_without_a_journal_is_as_it_was(interrupted: Path) -> None:
    (interrupted.parent / "visits.jsonl").unlink()
    loaded = load_results(interrupted)
    assert with_unfinished(loaded) == loaded
    assert with_unfinished(Results(Path("x"), {}, ())).records == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": "no mapping", "task_spec": {"stmt": "x", "setup": "pass"}},
        {"order": {"id": "begun"}, "task_spec": {"stmt": 3}},
        {"order": {"id": "begun"}},
        "nonsense",
    ],
)
def test_what_does_not_describe_an_order_is_left_out(tmp_path: Path, wrong: object) -> None:
    file = ResultsFile.create(tmp_path / "results.json", {"run": {"id": "mine"}})
    line = {"run": "mine", "order": "begun", "visit": {"number_per_run": 1, "block_seconds": [1.0], "whole_seconds": 1}}
    (tmp_path / "visits.jsonl").write_text(json.dumps({**line, "about": wrong}) + "\n")
    assert with_unfinished(load_results(file.path)).records == ()
