from __future__ import annotations

import dataclasses
import pickle
import sys
from pathlib import Path

import pytest
import torch.utils.benchmark as torch_benchmark

import photometer
from photometer.analysis.ranking import Ranking
from photometer.errors import DefinitionError, ToolMissing
from photometer.model.instruction_counts import (
    CallgrindStats,
    FunctionCount,
    FunctionCounts,
    InstructionCounts,
    InstructionFigures,
)
from photometer.model.measurement import Measurement
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import load_results
from photometer.model.run_figures import ProcessorCounts
from photometer.model.task import TaskSpec
from photometer.results import load, save
from tests.analysis.measurements import made
from tests.analysis.verdicts import comparison, result, verdict
from tests.model.test_device_measurement import measurement as device_measurement

COUNTS = InstructionCounts(TaskSpec("f(x)", label="L"), 10, (InstructionFigures(1200, 1000, 20),) * 2)
FUNCTIONS = FunctionCounts((FunctionCount(900, "a.c:f"), FunctionCount(100, "a.c:g")), inclusive=False)
NOTHING = FunctionCounts((), inclusive=False)
STATS = CallgrindStats(TaskSpec("f(x)"), 10, True, NOTHING, NOTHING, FUNCTIONS, FUNCTIONS, None)
PROCESSOR = ProcessorCounts(TaskSpec("f(x)"), 10, (1000, 1010), (10, 10))


def torchs(m: Measurement) -> torch_benchmark.Measurement:
    spec = torch_benchmark.TaskSpec(**dataclasses.asdict(m.task_spec))
    return torch_benchmark.Measurement(m.number_per_run, list(m.raw_times), spec)


def test_save_load_and_append(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    one, two = made(1, "a"), made(2, "b")
    save(path, one)
    assert load(path) == [one]
    save(str(path), [two], append=True)
    assert load(path) == [one, two]
    save(path, [two])
    assert load(path) == [two]


def test_append_makes_the_file_and_the_machine_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    save(path, [made(1)], append=True)
    machine = load(path).machine
    assert machine is not None
    assert machine.python is not None
    assert len(load(path)) == 1


def test_recover(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    save(path, [made(1, "a"), made(2, "b")])
    path.write_bytes(path.read_bytes()[:-50])
    assert load(path, recover=True) == [made(1, "a")]


def test_every_kind_of_result_is_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    given = [made(1, "a"), device_measurement(), COUNTS, PROCESSOR, result("slower", 1.1)]
    save(path, [*given, STATS])
    loaded = load(path)
    assert loaded[:-1] == given
    assert repr(loaded[-1]) == repr(STATS)
    assert loaded.measurements == [made(1, "a")]
    assert repr(loaded).startswith("<photometer.LoadedResults of ")
    assert len(repr(loaded).splitlines()) == 1


@pytest.mark.parametrize("single", [made(1, "a"), device_measurement(), COUNTS, PROCESSOR, result("same")])
def test_one_result_need_not_be_in_a_list(single: object, tmp_path: Path) -> None:
    save(tmp_path / "r.json", single)
    assert load(tmp_path / "r.json") == [single]


def test_verdicts_and_comparisons_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    judged = verdict("slower", 1.1)
    save(path, judged)
    [ranking] = load(path)
    assert isinstance(ranking, Ranking)
    assert [pair.verdict for pair in ranking.pairs] == [judged]
    save(path, ranking)
    assert load(path) == [ranking]
    both = comparison(result("slower", 1.1, "a"), result("same", 1.0, "b"))
    save(path, both)
    assert load(path) == list(both.results)


def test_evidence_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ResultsFile.create(path, records=[made(1, "a"), {"kind": "failure", "message": "no"}, {"kind": "hologram"}])
    assert load(path) == [made(1, "a")]
    assert len(load_results(path).records) == 3


def test_what_is_no_result_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="int is not a result"):
        save(tmp_path / "r.json", [made(1, "a"), 3])
    assert not (tmp_path / "r.json").exists()


def test_results_of_torch_are_taken_everywhere(tmp_path: Path) -> None:
    own, theirs = made(1e-6, "a"), torchs(made(2e-6, "b"))
    save(tmp_path / "r.json", [theirs, own])
    assert load(tmp_path / "r.json") == [made(2e-6, "b"), own]
    shown = str(photometer.Compare([own, theirs]))
    assert shown == str(photometer.Compare([own, made(2e-6, "b")]))
    [merged] = Measurement.merge([own, torchs(own)])
    assert merged.raw_times == [*own.times, *own.times]


def test_counts_of_torch_are_taken(tmp_path: Path) -> None:
    functions = torch_benchmark.FunctionCounts((torch_benchmark.FunctionCount(900, "a.c:f"),), inclusive=False)
    theirs = torch_benchmark.CallgrindStats(
        torch_benchmark.TaskSpec("f(x)", "pass"), 10, True, functions, functions, functions, functions, None
    )
    save(tmp_path / "r.json", theirs)
    [stats] = load(tmp_path / "r.json")
    assert isinstance(stats, CallgrindStats)
    assert list(stats.stats()) == list(functions)


def test_raw_times_are_a_list_that_cannot_be_changed() -> None:
    m = Measurement(2, (1.0, 3.0), TaskSpec("x"))
    assert isinstance(m.raw_times, list)
    assert m.raw_times.__add__([5.0]) == [1.0, 3.0, 5.0]
    assert sorted(m.raw_times, reverse=True) == [3.0, 1.0]
    assert m.raw_times.copy() == [1.0, 3.0]
    assert pickle.loads(pickle.dumps(m)) == m
    for name in ("append", "remove", "extend", "sort"):
        with pytest.raises(AttributeError, match=r"Measurement\.merge"):
            getattr(m.raw_times, name)([1.0])
    with pytest.raises(AttributeError, match="copy"):
        m.raw_times[0] = 2.0


def test_a_data_frame_has_one_row_per_result_and_a_column_per_size(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    auto = {"runtime": "eager", "autograd": "forward", "language": "python", "num_threads": 1, "device": "cpu"}
    order = {"id": "1", "label": ["a"], "auto": {**auto, "sizes": [["n", 64]]}}
    from photometer.model.records import to_record

    ResultsFile.create(path, records=[{**to_record(made(2, "a")), "order": order}, COUNTS, device_measurement()])
    frame = load(path).to_dataframe()
    assert list(frame["kind"]) == ["measurement", "instruction_counts", "device_measurement"]
    assert frame["n"][0] == 64
    assert frame["runtime"][0] == "eager"
    assert frame["median_seconds"][0] == made(2, "a").median
    assert frame["instructions_per_run"][1] == 120
    assert frame["mode"][2] == "device hot"


def test_every_kind_has_rows(tmp_path: Path) -> None:
    save(
        tmp_path / "r.json", [made(1), COUNTS, STATS, PROCESSOR, device_measurement(), verdict("same"), result("same")]
    )
    loaded = load(tmp_path / "r.json")
    frame = loaded.to_dataframe()
    # The ranking of two has two rows.
    assert len(frame) == len(loaded) + 1
    assert frame["instructions_per_run"].notna().sum() == 3
    assert frame["ratio"].notna().sum() == 2


def test_without_pandas_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ToolMissing, match=r"pip install photometer\[pandas\]"):
        photometer.Compare([made(1)]).to_dataframe()
    with pytest.raises(ToolMissing, match="pandas"):
        comparison(result("same")).to_dataframe()


def test_make_report_writes_one_page_of_several_files(tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for number, file in enumerate(files):
        photometer.save(file, [photometer.Timer("1", label=f"label {number}").timeit(10)])
    page = photometer.make_report(files, tmp_path / "page.html", title="Two files")
    text = page.read_text()
    assert "Two files" in text
    assert "label 0" in text
    assert "label 1" in text
    assert photometer.make_report(str(files[0]), tmp_path / "one.html").is_file()
