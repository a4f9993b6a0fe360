"""Real commits, really measured: ranges, searches and confirmations through the command. They take minutes: nightly."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import load_suite
from photometer.execution.run_file import identified
from photometer.history.repository import Repository
from photometer.history.store import open_store
from photometer.history.writing import Origin
from photometer.instruments.ready_order import task_spec_of
from photometer.model.records import to_record
from photometer.plan import materialize
from tests.history.project import Project
from tests.history.records import header, times
from tests.photometer_command import COMMAND, photometer

pytestmark = [pytest.mark.nightly, pytest.mark.valgrind]


def in_project(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    return photometer(*words, cwd=project.folder)


def test_the_planted_commit_of_two_hundred_is_found_in_at_most_nine_steps(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.grow(200, steps={137}, broken={99, 149})
    begin = time.monotonic()
    done = in_project(project, "bisect", project.shas[0], "main", "--suite", str(project.suite), "-k", "work")
    print(f"{time.monotonic() - begin:.0f} s")  # noqa: T201 - shown by -s; nothing is asserted about it
    assert done.returncode == 0, done.stderr
    assert f"{project.shas[137]} is the first commit that changed instructions" in done.stdout
    assert "step 137" in done.stdout
    assert re.search(r"_PyEval_EvalFrameDefault \(\+", done.stdout)
    steps = int(re.search(r"(\d+) steps over 199 commits", done.stdout).group(1))  # type: ignore[union-attr]
    assert steps <= 9
    # Again: everything is kept, nothing is counted anew.
    begin_again = time.monotonic()
    again = in_project(project, "bisect", project.shas[0], "main", "--suite", str(project.suite), "-k", "work")
    assert again.stdout == done.stdout
    assert time.monotonic() - begin_again < time.monotonic() - begin
    assert project.git("worktree", "list").count("\n") == 0


def test_commits_beside_the_one_that_do_not_run_are_all_named(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.grow(12, steps={6}, broken={5, 6})
    done = in_project(project, "bisect", project.shas[0], "main", "--suite", str(project.suite), "-k", "work")
    assert done.returncode == 4, done.stderr
    assert "one of 3 commits changed instructions" in done.stdout
    assert all(project.shas[place][:10] in done.stdout for place in (5, 6, 7))
    same = in_project(project, "bisect", project.shas[7], "main", "--suite", str(project.suite),
                      "-k", "work", "--metric", "instructions")  # fmt: skip
    assert same.returncode == 5
    assert "are the same in all selected benchmarks" in same.stderr


def test_a_slower_commit_is_found_by_time(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    for number in range(6):
        code = "import time\n\n\ndef work(n):\n    time.sleep(%g)\n\n\ndef rest(n):\n    pass\n"
        project.commit(code % (0.002 if number >= 4 else 0.001), f"change {number}")
    done = in_project(project, "bisect", project.shas[0], "main", "--suite", str(project.suite), "-k", "work",
                      "--budget", "4")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"{project.shas[4]} is the first commit that changed time" in done.stdout


def test_a_range_can_be_killed_and_continued_and_is_not_measured_twice(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.grow(8, steps={3}, broken={5})
    in_project(project, "history", "create")
    command = [
        "history",
        "measure",
        f"git:{project.shas[0]}..main",
        "--suite",
        str(project.suite),
        "--min-run-time",
        "0.05",
    ]
    running = subprocess.Popen([*COMMAND, *command], cwd=project.folder, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    for line in running.stderr:
        if line.startswith("commit 3 of 8"):
            break
    running.send_signal(signal.SIGKILL)
    running.wait()
    with open_store(project.folder / ".photometer" / "history.sqlite") as store:
        before = {run.key: run.results for run in store.runs()}
    assert 2 <= len(before) <= 3
    done = in_project(project, *command)
    assert done.returncode == 0, done.stderr
    # What was complete is not asked for again; what was begun is continued as the same run.
    assert len(re.findall(r"^commit \d", done.stderr, re.MULTILINE)) == 6
    with open_store(project.folder / ".photometer" / "history.sqlite") as store:
        after = {run.key: run for run in store.runs()}
        assert set(before) <= set(after)
        assert {run.commit.sha for run in after.values() if run.commit} == set(project.shas) - {project.shas[5]}
        assert all(run.is_complete and run.results == 4 for run in after.values())
    assert "not measured" in done.stderr
    assert "half done" in done.stderr
    # The one that does not run is tried again: it may have been the machine's fault.
    again = in_project(project, *command).stderr
    assert f"commit 1 of 1: {project.shas[5][:10]}" in again
    # The file of a commit says which commit it is of.
    file = project.folder / "photometer-results" / "history" / project.shas[3][:12] / "results.json"
    assert "0 new results, 4 were already there" in in_project(project, "history", "add", str(file)).stdout
    with open_store(tmp_path / "other.sqlite", create=True) as other:
        in_project(project, "history", "add", str(file), "--store", str(tmp_path / "other.sqlite"))
        (run,) = other.runs()
        assert run.commit is not None
        assert (run.commit.sha, run.is_dirty) == (project.shas[3], False)
    changes = in_project(project, "history", "changes", "--json", "--metric", "instructions").stdout
    (change,) = [json.loads(line) for line in changes.splitlines()]
    assert (change["benchmark"], change["first_commit"]) == ("toy › work", project.shas[3])
    assert change["is_one_commit"]
    assert change["functions"]


def test_confirm_compares_the_commits_of_doubtful_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path / "project")
    project.grow(24, steps={12})
    monkeypatch.chdir(project.folder)
    in_project(project, "history", "create")
    repository = Repository()
    orders = {order.label[-1]: order for order in materialize(load_suite(str(project.suite)))}
    with open_store(project.folder / ".photometer" / "history.sqlite") as store:
        for number, sha in enumerate(project.shas):
            # Both are said to be slower; only one of them is.
            level = 1.3 if number >= 12 else 1.0
            records: list[dict[str, Any]] = []
            for name, order in orders.items():
                made = times(name, 1e-6 * level, seed=number)
                records.append(identified({**made, "task_spec": to_record(task_spec_of(order))}, order))
            store.add_run(header(sha), records, Origin(repository.project(), repository.commit(sha)))
    done = in_project(project, "history", "changes", "--confirm", "--suite", str(project.suite), "--json")
    assert done.returncode == 0, done.stderr
    causes = {record["benchmark"]: record["cause"] for record in map(json.loads, done.stdout.splitlines())}
    assert causes == {"toy › work": "confirmed", "toy › rest": "not confirmed"}
    # The verdicts are stored: nothing is compared again.
    again = in_project(project, "history", "changes", "--confirm", "--suite", str(project.suite))
    assert "there is nothing to confirm" in again.stderr
