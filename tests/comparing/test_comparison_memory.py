"""Memory of both sides of a comparison, on sessions without processes."""

from __future__ import annotations

from pathlib import Path

from photometer.analysis.comparison_result import ComparisonResult
from photometer.comparing.environments import compare as compare_sides, live_comparison
from photometer.comparing.request import ComparisonRequest, ComparisonSettings
from photometer.definition import TimerArgs
from photometer.model.machine import Environment
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.records import to_record
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import load_results
from photometer.model.task import TaskSpec
from photometer.worker.messages import MeasureMemory
from tests.session.fake_session import Behaviour, FakeServers

SUITE = {name: TimerArgs(name) for name in ("steady", "larger")}
# As many instructions, in the same time, for a larger block: neither counts nor times can see it.
SIDES = {"base": {}, "branch": {"larger": Behaviour(allocated_bytes=8192)}}


def compare(servers: FakeServers, output: Path | None = None, **changes: object) -> dict[str, ComparisonResult]:
    settings = ComparisonSettings(budget_seconds=4.0, margin=0.01, **changes)  # type: ignore[arg-type]
    request = ComparisonRequest((Environment("base"), Environment("branch")), SUITE, settings, output=output)
    with live_comparison(request, make_session=servers.session) as live:
        return {result.title: result for result in live.run()}


def test_a_larger_block_is_found_although_the_instructions_are_identical(servers: FakeServers, tmp_path: Path) -> None:
    found = compare(servers, tmp_path)
    assert found["larger"].verdict == "identical"
    assert found["larger"].memory is not None
    assert found["larger"].memory.verdict == "more"
    assert found["larger"].memory.sentence.startswith("allocates 4.0 KiB more (from 4.0 KiB to 8.0 KiB)")
    assert found["steady"].memory is not None
    assert found["steady"].memory.verdict == "equal"
    kept = load_results(tmp_path / "comparison.json").of(ComparisonResult)
    assert {result.title: result.memory for result in kept} == {title: each.memory for title, each in found.items()}


def test_it_can_be_left_out(servers: FakeServers) -> None:
    found = compare(servers, memory=False)
    assert all(result.memory is None for result in found.values())
    assert not any(isinstance(request, MeasureMemory) for server in servers.made for request in server.log)


def test_results_files_with_memory_are_compared_too(tmp_path: Path) -> None:
    paths = []
    for name, size in (("a", 4096), ("b", 8192)):
        file = ResultsFile.create(tmp_path / f"{name}.json")
        spec, order = TaskSpec("x"), {"id": "17", "label": ["add"]}
        memory = MemoryMeasurement(spec, (MemoryFigures(size, size, 1),))
        for record in (to_record(Measurement(1000, [1e-3] * 20, spec)), to_record(memory)):
            file.append({**record, "order": order})
        paths.append(str(file.path))
    (result,) = compare_sides(paths)
    assert result.memory is not None
    assert result.memory.verdict == "more"
