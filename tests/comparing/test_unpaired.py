"""Sides that are results files: matched, judged with the luck that separate runs have, and what that costs is said."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import photometer
from photometer.errors import DefinitionError
from photometer.instruments.machine_facts import gather_machine
from photometer.model.machine import Machine
from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.results_file import ResultsFile
from photometer.model.task import TaskSpec
from photometer.session.layout import freezing


def measurement(stmt: str, seconds: float, seed: int = 0) -> Measurement:
    chance = random.Random(seed)
    times = [1000 * seconds * (1.0 + abs(chance.gauss(0.0, 0.002))) for _ in range(50)]
    return Measurement(1000, times, TaskSpec(stmt, "pass"))


def saved(path: Path, *measurements: Measurement) -> str:
    photometer.save(path, measurements)
    return str(path)


def test_two_files_need_no_suite(tmp_path: Path) -> None:
    base = saved(tmp_path / "a.json", measurement("x", 1e-6), measurement("y", 1e-6), measurement("only here", 1e-6))
    branch = saved(tmp_path / "b.json", measurement("x", 2e-6, 1), measurement("y", 1.01e-6, 2))
    comparison = photometer.compare([base, branch])
    assert {result.title: result.verdict for result in comparison} == {"x": "slower", "y": "undecided"}
    assert comparison.verdict == "slower"
    assert any("not measured side by side" in warning for warning in comparison.warnings)
    assert "1 benchmarks are on one side only and are left out" in comparison.warnings
    assert all(not result.judged.paired for result in comparison)


def test_orders_of_a_run_are_matched_by_their_id(tmp_path: Path) -> None:
    paths = []
    for name, seconds in (("a", 1e-6), ("b", 2e-6)):
        file = ResultsFile.create(tmp_path / f"{name}.json")
        # The set-up of a scripted model differs between runs; the id does not.
        one = Measurement(1000, [1000 * seconds] * 20, TaskSpec("x", f"load('{name}')", description="python"))
        file.append({**to_record(one), "order": {"id": "17", "label": ["group", "add"]}})
        paths.append(str(file.path))
    (result,) = photometer.compare(paths)
    assert (result.order_id, result.title, result.verdict) == ("17", "group › add [python]", "slower")


def test_frozen_layouts_of_runs_here_make_it_surer(tmp_path: Path) -> None:
    machine = gather_machine()
    intervals: list[float] = []
    kinds: list[tuple[dict[str, Any], Machine]] = [
        ({"run": {}}, machine),
        ({"run": {}}, Machine(cpu_model="another")),
        ({}, machine),
    ]
    for header, facts in kinds:
        paths = [tmp_path / f"{len(intervals)}{name}.json" for name in "ab"]
        for path in paths:
            ResultsFile.create(path, header, machine=facts, records=[measurement("x", 1e-6)])
        (result,) = photometer.compare([*map(str, paths)])
        intervals.append(result.interval[1] - result.interval[0])
    if freezing().refused_because is None:
        assert intervals[0] < intervals[1] / 2
    assert intervals[1] == intervals[2]


def test_files_with_nothing_in_common(tmp_path: Path) -> None:
    base = saved(tmp_path / "a.json", measurement("x", 1e-6))
    branch = saved(tmp_path / "b.json", measurement("y", 1e-6))
    comparison = photometer.compare([base, branch])
    assert comparison.outcome == "nothing"


def test_a_side_to_be_measured_needs_a_suite(tmp_path: Path) -> None:
    base = saved(tmp_path / "a.json", measurement("x", 1e-6))
    with pytest.raises(DefinitionError, match="no suite is given"):
        photometer.compare([base, "current"])


@pytest.mark.slow
def test_a_file_against_a_live_side(tmp_path: Path) -> None:
    suite = {"add": photometer.TimerArgs("sum(v)", "v = list(range(500))")}
    (order,) = photometer.suites.materialize(suite).orders
    file = ResultsFile.create(tmp_path / "a.json")
    # A millisecond: whatever the machine, the live side is faster.
    fast = Measurement(10, [1e-2] * 20, TaskSpec(order.args.stmt, order.args.setup))
    file.append({**to_record(fast), "order": {"id": order.id, "label": ["add"]}})
    (result,) = photometer.compare([str(file.path), "current"], suite)
    assert result.verdict == "faster"
