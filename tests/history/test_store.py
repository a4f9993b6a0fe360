"""A store keeps every record of a run once, gives it back as it was, and draws curves of machines apart."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from photometer.errors import StoreError
from photometer.history import connection, schema
from photometer.history.contents import unpack
from photometer.history.nouns import Added
from photometer.history.store import Store, open_store
from photometer.history.writing import Origin, RunWriter
from photometer.session.remarks import remarks_to
from tests.history.records import (
    comparison,
    comparison_header,
    counts,
    failure,
    header,
    origin,
    sha,
    times,
)

RECORDS = [times("work", 1e-6), counts("work", 12_000), times("rest", 2e-6), failure("broken")]


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    added = store.add_run(header(), RECORDS, origin(3))
    assert list(store.records(added.run_id)) == RECORDS
    assert store.run_header(added.run_id) == header()
    (run,) = store.runs()
    assert (run.kind, run.project, run.branch, run.results, run.failures) == ("run", "toys", "main", 4, 1)
    assert run.commit is not None
    assert (run.commit.sha, run.commit.subject, run.is_complete) == (sha(3), "commit 3", True)
    assert (run.machine.name, run.environment.name) == ("Quick 9000, 8 cores, 16 GiB", "Python 3.11, torch 2.13.0")


def test_adding_the_same_run_twice_changes_nothing(store: Store) -> None:
    first = store.add_run(header(), RECORDS, origin(3))
    again = store.add_run(header(), RECORDS, origin(3))
    assert (first.new, again) == (4, Added(first.run_id, 0, 4))
    assert len(store.runs()) == 1
    assert [len(curve.points) for curve in store.all_curves()] == [1] * len(list(store.all_curves()))


def test_a_run_that_grew_is_completed(store: Store) -> None:
    store.add_run(header(), RECORDS[:2], origin(3), finish=False)
    assert not store.runs()[0].is_complete
    assert store.add_run(header(), RECORDS, origin(3)).new == 2
    assert list(store.records(store.runs()[0].id)) == RECORDS
    assert store.runs()[0].is_complete


def test_two_runs_of_one_commit_are_two(store: Store) -> None:
    store.add_run(header("a"), [counts("work", 100)], origin(3))
    store.add_run(header("b"), [counts("work", 100)], origin(3))
    assert len(store.runs()) == 2
    (curve,) = (curve for curve in store.all_curves(["instructions"]))
    assert [point.value for point in curve.points] == [1.0, 1.0]


def test_equal_contents_are_kept_once(store: Store) -> None:
    from sqlalchemy import func, select

    for number in range(5):
        store.add_run(header(str(number)), [counts("work", 12_000)], origin(number))
    with store.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(schema.contents)) == 1
        assert connection.scalar(select(func.count()).select_from(schema.results)) == 5


HOSTILE: list[dict[str, Any]] = [
    {"kind": "note", "text": "nul \0, half \ud800, \u202e turned, '; DROP TABLE runs; --"},
    {"kind": "note", "number": 10**40, "negative": -(2**63) - 1, "nothing": None, "nested": {"a": [1, 2.5, True]}},
    {**times("w\0rk'\"; --", 1e-6), "order": {"id": "id\0 \ud800", "label": ["\0", "\ud800"], "auto": "no mapping"}},
    {"kind": "measurement", "number_per_run": 0, "raw_times": [1.0], "task_spec": {"stmt": "1"}},
    {"kind": "measurement", "number_per_run": 1, "raw_times": [1e308, 1e308, 5e-324], "task_spec": {"stmt": "2"}},
    {"kind": "instruction_counts", "repeats": "none", "number_per_run": 1, "task_spec": {"stmt": "3"}},
    {"kind": "comparison", "verdict": 7, "order_id": "x"},
]


def test_hostile_records_are_data(store: Store) -> None:
    added = store.add_run(header("h'; --\0"), HOSTILE, Origin("p\0\ud800", branch="b'\0"))
    assert list(store.records(added.run_id)) == HOSTILE
    assert store.add_run(header("h'; --\0"), HOSTILE, Origin("p\0\ud800")).new == 0
    assert store.benchmarks()
    store.comparisons()


def test_curves_are_apart_by_machine_environment_and_project(store: Store) -> None:
    store.add_run(header("a"), [counts("work", 100)], origin(0))
    store.add_run(header("b"), [counts("work", 200)], origin(1))
    store.add_run(header("c", cpu="Slow 1"), [counts("work", 300)], origin(1))
    store.add_run(header("d", torch="2.14.0"), [counts("work", 400)], origin(1))
    store.add_run(header("e"), [counts("work", 500)], origin(1, project="others"))
    (benchmark,) = store.benchmarks()
    curves = store.curves(benchmark.id, "instructions")
    assert sorted([point.value for point in curve.points] for curve in curves) == [[1, 2], [3], [4], [5]]
    assert len(store.curves(benchmark.id, "instructions", project="others")) == 1


def test_a_torch_built_from_a_commit_stays_on_one_curve(store: Store) -> None:
    for number in range(3):
        store.add_run(header(str(number), torch=f"2.14.0a0+git{number}"), [counts("work", 100)], origin(number))
    (curve,) = store.all_curves(["instructions"])
    assert len(curve.points) == 3


def test_points_are_in_the_order_of_commits_not_of_runs(store: Store) -> None:
    for number in (4, 0, 2):
        store.add_run(header(str(number)), [counts("work", 100 + number)], origin(number))
    (curve,) = store.all_curves(["instructions"])
    assert [point.commit.subject for point in curve.points] == ["commit 0", "commit 2", "commit 4"]


def test_changed_trees_and_runs_without_a_commit_are_not_on_curves(store: Store) -> None:
    store.add_run(header("a"), [counts("work", 100)], origin(0, dirty=True))
    store.add_run(header("b"), [counts("work", 100)], Origin("toys"))
    assert len(store.runs()) == 2
    assert all(not curve.points for curve in store.all_curves())


def test_benchmarks_are_selected_as_orders_are(store: Store) -> None:
    store.add_run(header(), [times("work", 1e-6), times("rest", 1e-6)], origin(0))
    assert [each.title for each in store.benchmarks("work or rest")] == ["toy › rest", "toy › work"]
    assert [each.title for each in store.benchmarks("toy and not work")] == ["toy › rest"]
    assert store.benchmarks("language=cpp") == ()


def test_verdicts_of_a_comparison_have_both_commits(store: Store) -> None:
    from photometer.history.recorder import origin_of

    replicate = {"kind": "comparison_replicate", "order_id": "id-work", "number": 1}
    head = comparison_header(sha(0), sha(1))
    store.add_run(head, [replicate, comparison("work", "slower")], origin_of(head, None))
    (verdict,) = store.comparisons()
    assert (verdict.verdict, verdict.ratio, verdict.cause) == ("slower", 1.1, "more instructions")
    assert verdict.base is not None
    assert verdict.branch is not None
    assert (verdict.base.sha, verdict.branch.sha) == (sha(0), sha(1))
    # The replicate came first and had no label; the benchmark got it later.
    assert verdict.benchmark.title == "toy › work"
    assert store.comparisons(benchmark_id=verdict.benchmark.id + 1) == ()


def test_functions_of_a_count(store: Store) -> None:
    listed = {"a.c:f [/lib/a.so]": 70, "a.c:g [/lib/a.so]": 30}
    store.add_run(header(), [counts("work", 100, listed)], origin(0))
    (curve,) = store.all_curves(["instructions"])
    functions = store.functions(curve.points[0].result_id)
    assert [(row.count, row.function) for row in functions] == [(70, "a.c:f [/lib/a.so]"), (30, "a.c:g [/lib/a.so]")]


def test_writers_of_one_run_at_once_write_each_record_once(store: Store) -> None:
    records = [counts(f"b{number}", 100 + number) for number in range(40)]
    errors: list[BaseException] = []

    def write() -> None:
        try:
            writer = RunWriter(store.engine, header(), origin(0))
            for record in records:
                writer.add([record])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    (run,) = store.runs()
    assert run.results == 40
    assert sum(len(curve.points) for curve in store.all_curves(["instructions"])) == 40


def test_a_store_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no history store[\s\S]*history create"):
        open_store(tmp_path / "none.sqlite")
    with pytest.raises(StoreError, match="is a folder"):
        open_store(tmp_path)


def test_a_read_only_store_cannot_be_written(tmp_path: Path) -> None:
    place = tmp_path / "history.sqlite"
    open_store(place, create=True).close()
    with open_store(place, read_only=True) as store, pytest.raises(StoreError, match="readonly"):
        store.add_run(header(), RECORDS, origin(0))


def test_a_run_whose_machine_is_lost_is_called_damage(tmp_path: Path) -> None:
    place = tmp_path / "history.sqlite"
    with open_store(place, create=True) as store:
        store.add_run(header(), RECORDS, origin(0))
    with contextlib.closing(sqlite3.connect(place)) as damaged, damaged:
        damaged.execute("DELETE FROM machines")
    with open_store(place) as store, pytest.raises(StoreError, match="damaged: a run refers to row 1"):
        store.runs()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE commits SET parents = X'00'",
        "UPDATE machines SET facts = '[1, 2'",
        "UPDATE machines SET facts = '[]'",
        "UPDATE benchmarks SET label = '3'",
        "DELETE FROM metrics",
        "UPDATE metrics SET unit = X'00'",
    ],
)
def test_what_is_not_as_it_was_written_is_called_damage(change: str, tmp_path: Path) -> None:
    place = tmp_path / "history.sqlite"
    with open_store(place, create=True) as store:
        store.add_run(header(), RECORDS, origin(0))
    with contextlib.closing(sqlite3.connect(place)) as damaged, damaged:
        damaged.execute(change)
    with pytest.raises(StoreError, match="the store is damaged"):
        read_all(place)


def test_a_record_without_content_is_called_damage() -> None:
    with pytest.raises(StoreError, match="damaged: it has no content"):
        unpack(None)  # type: ignore[arg-type]


def test_more_rows_than_a_database_can_count_are_all_rows(store: Store) -> None:
    store.add_run(header(), RECORDS, origin(0))
    assert len(store.runs(limit=10**30)) == 1


def read_all(place: Path) -> None:
    with open_store(place) as store:
        store.runs()
        for benchmark in store.benchmarks():
            store.curves(benchmark.id)


def test_whoever_waits_for_a_locked_store_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.05)
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    place = tmp_path / "history.sqlite"
    open_store(place, create=True).close()
    heard: list[str] = []
    other = sqlite3.connect(place)
    with contextlib.closing(other), remarks_to(heard.append), open_store(place) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            store.add_run(header(), RECORDS, origin(0))
        assert heard == [f"{place}: another program is writing to it; waiting for up to 0.1 s"]
        other.execute("ROLLBACK")
        store.add_run(header(), RECORDS, origin(0))
        assert len(store.runs()) == 1


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_store_that_cannot_be_made_leaves_no_file(
    has_begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(engine: Engine) -> None:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            if has_begun:
                connection.exec_driver_sql("CREATE TABLE runs (id INTEGER)")
            raise OperationalError("", {}, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(schema, "upgrade", fail)
    with pytest.raises(StoreError, match="full"):
        open_store(tmp_path / "history.sqlite", create=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_there_stays_if_it_cannot_be_made_a_store(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine " * 100)
    with pytest.raises(StoreError):
        open_store(tmp_path / "notes.txt", create=True)
    assert (tmp_path / "notes.txt").read_text() == "mine " * 100
