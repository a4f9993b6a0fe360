"""Export gives back what was added, prune deletes what is asked for and nothing else, doctor sees damage."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from photometer.cli import main
from photometer.errors import DefinitionError, StoreError
from photometer.history import schema
from photometer.history.connection import make_store
from photometer.history.recorder import add_file
from photometer.history.store import Store, open_store
from photometer.history.two_commits import compare_commits, render_comparison
from photometer.history.upkeep import Pruning, choose, delete_runs, examine, export_runs, render_curves
from photometer.model.results_file import ResultsFile
from photometer.report.tables.formats import CSV, JSON
from tests.history.records import comparison, counts, header, origin, sha, times


def test_exported_runs_can_be_added_again(store: Store, tmp_path: Path) -> None:
    records = [times("work", 1e-6), counts("work", 12_000)]
    store.add_run(header(), records, origin(0))
    assert export_runs(store, tmp_path / "out") == 1
    (path,) = (tmp_path / "out").iterdir()
    assert add_file(store, path).new == 0
    with open_store(tmp_path / "other.sqlite", create=True) as other:
        assert list(other.records(add_file(other, path).run_id)) == records


def test_a_comparison_of_many_sides_is_added_as_several_of_two_and_only_once(store: Store, tmp_path: Path) -> None:
    about = {
        **{"id": "cmp-1", "suite": "toy", "fingerprint": "f" * 16},
        "sides": [{"spec": f"git:{sha(n)}", "commit": sha(n), "tree": None} for n in range(3)],
    }
    second = {**comparison("work", "slower"), "side": 2, "before": 1}
    path = ResultsFile.create(
        tmp_path / "comparison.json", {"comparison": about}, records=[comparison("work", "same"), second]
    ).path
    added = add_file(store, path)
    assert (added.new, added.known) == (2, 0)
    assert {
        each.branch.sha: (each.verdict, each.base.sha)
        for each in store.comparisons()
        if each.base is not None and each.branch is not None
    } == {sha(1): ("same", sha(0)), sha(2): ("slower", sha(0))}
    again = add_file(store, path)
    assert (again.new, again.known) == (0, 2)
    assert len(store.runs()) == 2


def test_curves_are_exported_as_csv_and_json(store: Store) -> None:
    store.add_run(header(), [counts("=cmd()", 12_000)], origin(0, project="=evil"))
    rows = list(csv.DictReader(io.StringIO(render_curves(store, CSV))))
    assert len(rows) == 3
    assert {row["metric"] for row in rows} == {"instructions", "all_instructions", "allocator_calls"}
    assert rows[0]["commit"] == sha(0)
    # A spreadsheet must not take it for a formula.
    assert rows[0]["project"] == "'=evil"
    assert json.loads(render_curves(store, JSON, "cmd"))[0]["value"] == 120.0


def test_prune_deletes_runs_and_what_only_they_had(store: Store) -> None:
    shared = counts("work", 12_000)
    for number in range(3):
        store.add_run(header(f"run-{number}"), [shared, times("work", 1e-6, seed=number)], origin(0))
    store.add_run(header("dirty"), [counts("work", 5)], origin(1, dirty=True))
    store.add_run(header("open"), [counts("work", 6)], origin(2), finish=False)
    keys = {run.key for run in choose(store, Pruning(keep=1))}
    assert len(keys) == 2
    assert {run.key for run in choose(store, Pruning(dirty=True, unfinished=True))} == {"dirty", "open"}
    assert choose(store, Pruning(before=0)) == []
    chosen = choose(store, Pruning(keep=1, dirty=True))
    # The times of two runs, and the count of the changed tree; the shared count stays.
    assert delete_runs(store, [run.id for run in chosen]) == 3
    assert {run.key for run in store.runs()} == {"open", *({f"run-{n}" for n in range(3)} - keys)}
    with store.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(schema.contents)) == 3
    assert sum(run.results for run in store.runs()) == 3


def test_prune_wants_to_know_what() -> None:
    with pytest.raises(DefinitionError, match="no condition selects runs"):
        Pruning.parse(before=None, keep=None, dirty=False, unfinished=False, run_ids=())
    with pytest.raises(DefinitionError, match="not a date"):
        Pruning.parse(before="tomorrow", keep=None, dirty=False, unfinished=False, run_ids=())


def test_doctor_says_what_a_store_holds_and_what_is_damaged(place: str) -> None:
    with open_store(place, create=True) as store:
        store.add_run(header(), [counts("work", 12_000)], origin(0))
    found = examine(place)
    assert {"runs: 1", "benchmarks: 1", "results: 1"} <= set(found.facts)
    assert found.problems == ()
    with open_store(place) as store, store.engine.connect() as connection, connection.begin():
        connection.execute(update(schema.contents).values(data=b"no zlib"))
    assert any("cannot be unpacked" in problem for problem in examine(place).problems)
    with open_store(place) as store, pytest.raises(StoreError, match="damaged"):
        list(store.records(store.runs()[0].id))


def test_two_commits_are_compared_by_what_both_have(store: Store) -> None:
    old = [counts("work", 10_000, {"a.c:f [/a]": 10_000}), counts("rest", 500), times("work", 1e-6)]
    new = [counts("work", 12_000, {"a.c:f [/a]": 12_000}), counts("rest", 500), times("work", 1.2e-6)]
    store.add_run(header("a"), [*old, counts("gone", 1)], origin(0))
    store.add_run(header("b"), new, origin(1))
    rows = compare_commits(store, sha(0), sha(1))
    told = [(row.curve.benchmark.title, row.curve.metric.name, row.has_changed) for row in rows]
    assert told == [
        ("toy › work", "instructions", True),
        ("toy › work", "undisturbed_time", True),
        ("toy › rest", "instructions", False),
    ]
    text = render_comparison(rows)
    assert "f (+20)" in text
    assert "2 changed, 1 the same" in text
    assert "undisturbed" not in text
    with pytest.raises(StoreError, match="names no measured commit"):
        compare_commits(store, "feed", sha(1))
    with pytest.raises(StoreError, match="several measured commits"):
        compare_commits(store, "00", sha(1))


def test_a_time_that_differs_with_the_same_instructions_is_the_machines(store: Store) -> None:
    for place, seconds in ((0, 1e-6), (1, 2e-6)):
        store.add_run(header(str(place)), [counts("work", 10_000), times("work", seconds)], origin(place))
    (row, _) = compare_commits(store, sha(0), sha(1))
    assert row.has_changed
    assert row.has_same_instructions
    text = render_comparison([row])
    assert "+100 %" in text
    assert "same instructions, so probably the machine" in text
    assert "0 changed, 1 with the same instructions, 0 the same" in text


def test_doctor_looks_at_a_sample_of_a_large_store(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.history.upkeep.SAMPLED", 8)
    with open_store(place, create=True) as store:
        store.add_run(header(), [counts(f"b{number}", number) for number in range(40)], origin(0))
        assert examine(place).problems == ()
        with store.engine.connect() as connection, connection.begin():
            connection.execute(update(schema.contents).values(data=b"no zlib"))
    assert examine(place).problems[0].startswith("8 of 8 records looked at cannot be unpacked")


@pytest.mark.parametrize("command", ["verify", "runs", "curves", "changes", "create"])
def test_a_schema_that_is_no_text_is_told_in_words(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "history.sqlite"
    make_store(str(place))
    with contextlib.closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET name = CAST(x'fffe80' AS TEXT), sql = 'CREATE nothing'")
    with pytest.raises(SystemExit) as ended:
        main(["history", command, "--store", str(place)])
    assert ended.value.code == 1
    assert "is damaged" in capfd.readouterr().err
