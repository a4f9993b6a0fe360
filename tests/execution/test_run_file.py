from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from photometer.definition import TimerArgs
from photometer.errors import DefinitionError, ResultsFileError
from photometer.execution.run_file import identified, open_run_file
from photometer.execution.run_settings import RunSettings
from photometer.execution.steps import GIVEN_UP
from photometer.instruments.ready_order import task_spec_of
from photometer.instruments.registry import INSTRUMENTS
from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.results_reader import load_results
from photometer.plan import WorkOrders, materialize
from tests.execution.fake_executor import FACTS

PLAN = materialize({"a": TimerArgs("pass"), "b": TimerArgs("x = 1")})
SETTINGS = RunSettings()


def record(kind: str, order_id: str) -> dict[str, object]:
    return {"kind": kind, "order": {"id": order_id}}


def test_the_header_says_what_the_run_is_about(tmp_path: Path) -> None:
    opened = open_run_file(tmp_path / "new" / "folder", PLAN, SETTINGS, FACTS, resume=False)
    results = load_results(opened.path)
    assert results.header["run"]["fingerprint"] == PLAN.fingerprint
    assert results.machine is not None
    assert results.machine.torch is not None
    assert results.machine.torch.version == "9.9"
    assert not opened.finished


def test_what_was_there_is_kept_beside_it(tmp_path: Path) -> None:
    open_run_file(tmp_path, PLAN, SETTINGS, FACTS, resume=False).file.append(record("failure", "x"))
    open_run_file(tmp_path, PLAN, SETTINGS, FACTS, resume=False)
    assert len(load_results(tmp_path / "results.json").records) == 0
    (kept,) = tmp_path.glob("results-*.json")
    assert len(load_results(kept).records) == 1


def test_resume_knows_what_is_finished_also_in_a_torn_file(tmp_path: Path) -> None:
    first = open_run_file(tmp_path, PLAN, SETTINGS, FACTS, resume=True)
    for kind, order in ("measurement", "1"), ("instruction_counts", "1"), ("failure", "2"), ("measurement", "3"):
        first.file.append(record(kind, order))
    first.path.write_bytes(first.path.read_bytes()[:-20])
    second = open_run_file(tmp_path, PLAN, SETTINGS, FACTS, resume=True)
    failed = {("2", name) for name in (GIVEN_UP, *(each.name for each in INSTRUMENTS))}
    assert second.finished == {("1", "time"), ("1", "count"), *failed}
    second.file.append(record("measurement", "3"))
    assert len(load_results(second.path).records) == 4


def test_another_suite_or_torch_is_not_continued(tmp_path: Path) -> None:
    open_run_file(tmp_path, PLAN, SETTINGS, FACTS, resume=False)
    other = dataclasses.replace(PLAN, suite="other")
    with pytest.raises(DefinitionError, match="its suite was"):
        open_run_file(tmp_path, other, SETTINGS, FACTS, resume=True)
    with pytest.raises(DefinitionError, match="its torch was"):
        open_run_file(tmp_path, PLAN, SETTINGS, dataclasses.replace(FACTS, torch="10.0"), resume=True)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsFileError, match="Name another folder"):
        open_run_file(tmp_path / "file", PLAN, SETTINGS, FACTS, resume=False)


def test_results_of_one_second_do_not_replace_each_other(tmp_path: Path) -> None:
    for _ in range(4):
        opened = open_run_file(tmp_path, PLAN, SETTINGS, FACTS, resume=False)
        opened.file.append(record("failure", "x"))
        os.utime(opened.path, (1_700_000_000, 1_700_000_000))
    kept = sorted(tmp_path.glob("results-*.json"))
    assert [len(load_results(path).records) for path in kept] == [1, 1, 1]


def measured(plan: WorkOrders, place: int) -> dict[str, object]:
    order = plan[place]
    return identified(to_record(Measurement(1, [1e-6] * 5, task_spec_of(order))), order)


def test_renamed_labels_keep_their_results_if_the_code_is_unchanged(tmp_path: Path) -> None:
    first = open_run_file(tmp_path, PLAN, SETTINGS, FACTS, resume=False)
    first.file.append(measured(PLAN, 0))
    first.file.append(measured(PLAN, 1))
    renamed = materialize({"group": {"a": TimerArgs("pass")}, "b": TimerArgs("x = 2"), "c": TimerArgs("x = 3")})
    second = open_run_file(tmp_path, renamed, SETTINGS, FACTS, resume=True)
    assert second.finished == {(renamed[0].id, "time")}
    results = load_results(second.path)
    assert results.header["run"]["fingerprint"] == renamed.fingerprint
    (kept,) = results.records
    assert kept["order"]["label"] == ["group", "a"]
    assert kept["task_spec"]["label"] == "group"
    (former,) = tmp_path.glob("results-*.json")
    assert len(load_results(former).records) == 2


def test_orders_of_the_same_code_are_not_told_apart_by_it(tmp_path: Path) -> None:
    first = open_run_file(tmp_path, PLAN, SETTINGS, FACTS, resume=False)
    first.file.append(measured(PLAN, 0))
    twice = materialize({"c": TimerArgs("pass"), "d": TimerArgs("pass")})
    assert not open_run_file(tmp_path, twice, SETTINGS, FACTS, resume=True).finished
