"""What is measured is in the store as it is measured, and a store that fails ends no measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.cli.output_options import store_to_write
from photometer.comparing.ab_findings import comparisons_of
from photometer.comparing.environments import live_comparison
from photometer.comparing.request import ComparisonRequest, ComparisonSettings
from photometer.definition import TimerArgs
from photometer.errors import StoreError
from photometer.execution.run_settings import RunSettings
from photometer.history.recorder import StoreWarning, has_all, open_recorder
from photometer.history.repository import Repository, project_of_url
from photometer.history.store import open_store
from photometer.instruments.machine_facts import gather_machine
from photometer.model.machine import Environment
from photometer.model.records import to_record
from photometer.plan import materialize
from tests.history.project import Project
from tests.history.records import commit, counts, header, origin, times
from tests.session.fake_session import Behaviour, FakeServers


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = str(tmp_path / "history.sqlite")
    open_store(path, create=True).close()
    return path


def test_each_record_is_there_when_it_was_added_and_a_killed_run_stays_open(place: str) -> None:
    recorder = open_recorder(place, header(), origin=origin(0))
    for count, record in enumerate([counts("a", 1), counts("b", 2), times("a", 1e-6)], start=1):
        recorder.add(record)
        with open_store(place, read_only=True) as store:
            (run,) = store.runs()
            assert (run.results, run.is_complete) == (count, False)
    recorder.close()
    with open_recorder(place, header(), origin=origin(0)) as again:
        again.add(counts("c", 3))
    with open_store(place, read_only=True) as store:
        (run,) = store.runs()
        assert (run.results, run.is_complete) == (4, True)


def test_a_commit_is_complete_with_the_usual_steps_of_its_orders(place: str) -> None:
    (order,) = materialize({"a": TimerArgs("pass")}).orders
    first, sha = origin(0), commit(0).sha
    about = header() | {"machine": to_record(gather_machine())}
    steps = RunSettings().steps
    with open_recorder(place, about, origin=first) as recorder:
        for record in (times("a", 1e-6), counts("a", 1)):
            with open_store(place, read_only=True) as store:
                assert not has_all(store, sha, [order], steps)
            recorder.add(record | {"order": record["order"] | {"id": order.id}})
    with open_store(place, read_only=True) as store:
        assert has_all(store, sha, [order], steps)


def test_an_interrupted_run_is_not_complete(place: str) -> None:
    def measure() -> None:
        with open_recorder(place, header(), origin=origin(0)) as recorder:
            recorder.add(counts("a", 1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure()
    with open_store(place, read_only=True) as store:
        assert not store.runs()[0].is_complete


def test_a_store_that_fails_in_the_middle_is_said_once_and_ends_nothing(place: str, tmp_path: Path) -> None:
    with open_recorder(place, header(), origin=origin(0), file=tmp_path / "results.json") as recorder:
        recorder.add(counts("a", 1))
        with open_store(place) as store, store.engine.connect() as connection, connection.begin():
            connection.exec_driver_sql("DROP TABLE comparisons")
            connection.exec_driver_sql("DROP TABLE points")
        with pytest.warns(StoreWarning, match=r"no longer stored[\s\S]*history add .*results\.json") as told:
            recorder.add_all([counts("b", 2)])
        recorder.add(counts("c", 3))
        assert len(told) == 1


@pytest.mark.lengthy
def test_a_live_comparison_writes_its_replicates_and_verdicts(place: str, fake_processes: None) -> None:
    slow = {"slow": Behaviour(seconds_per_run=1.5e-6, instructions_per_run=1600)}
    servers = FakeServers({"base": {}, "branch": slow})
    request = ComparisonRequest(
        (Environment("base"), Environment("branch")),
        {"slow": TimerArgs("slow"), "steady": TimerArgs("steady")},
        ComparisonSettings(budget_seconds=4.0, margin=0.01),
        store=place,
    )
    with live_comparison(request, make_session=servers.session) as comparison:
        comparison.run()
    with open_store(place, read_only=True) as store:
        (run,) = store.runs(kind="compare")
        assert run.is_complete
        assert run.results > 4
        verdicts = {each.benchmark.title: each.verdict for each in store.comparisons()}
        assert verdicts == {"slow": "slower", "steady": "identical"}
        # Sides of a comparison are no points of a commit.
        assert not list(store.all_curves())


def test_ab_is_kept_as_a_ranking_and_comparisons(place: str) -> None:
    verdict = {"verdict": "slower", "ratio": 2.0, "interval": [1.9, 2.1]}
    statements = [{"name": "x + 1", "verdict": None}, {"name": "x + 1 + 1", "verdict": verdict}]
    head = {**header(), "ab": {"id": "ab-1", "statements": ["x + 1", "x + 1 + 1"], "setups": ["x = 1", "x = 1"]}}
    del head["run"]
    ranking = {"kind": "ranking", "reference": "x + 1", "statements": statements}
    with open_recorder(place, head) as recorder:
        recorder.add_all([ranking, *comparisons_of(ranking, head)])
    with open_store(place, read_only=True) as store:
        (run,) = store.runs()
        assert (run.kind, run.results) == ("ab", 2)
        (told,) = store.comparisons()
        assert (told.kind, told.verdict, told.ratio) == ("ab", "slower", 2.0)
        assert told.benchmark.title == "ab › x + 1 › x + 1 + 1"


def test_a_store_that_was_named_must_work_and_one_that_was_found_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    monkeypatch.delenv("PHOTOMETER_STORE", raising=False)
    assert store_to_write(None) is None
    with pytest.raises(StoreError):
        store_to_write("nowhere.sqlite")
    broken = project.folder / ".photometer" / "history.sqlite"
    broken.parent.mkdir()
    broken.write_bytes(b"not a database, and long enough to be seen as none" * 100)
    assert store_to_write(None) is None
    assert "results are not stored" in capsys.readouterr().err
    assert store_to_write("none") is None


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://ada:secret@github.com/a/b.git", "github.com/a/b"),
        ("https://token@host/a/b/", "host/a/b"),
        ("git@github.com:a/b.git", "github.com/a/b"),
        ("ssh://git@host/a/b?x=secret", "host/a/b"),
        ("/srv/git/b.git", "b"),
        ("../b", "b"),
    ],
)
def test_projects_are_named_alike_in_every_clone_and_without_secrets(url: str, name: str) -> None:
    assert project_of_url(url) == name


def test_a_repository_knows_its_commits(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.grow(4)
    repository = Repository(project.folder)
    first, last = repository.commit(project.shas[0]), repository.commit("HEAD")
    assert (first.generation, first.parents, last.generation) == (1, (), 4)
    assert last.parents == (project.shas[2],)
    assert (last.author, last.subject) == ("Ada", "change 3")
    assert first.place < last.place
    assert repository.between(project.shas[0], "HEAD") == tuple(project.shas[1:])
    assert repository.is_ancestor(project.shas[0], "HEAD")
    assert not repository.is_ancestor("HEAD", project.shas[0])
    assert repository.find_commit("f" * 40) is None
    assert Repository.find(Path("/")) is None
    assert (repository.project(), repository.branch()) == ("project", "main")
