"""asv's suites as suites of ours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from photometer.definition import GroupedBenchmark, Suite, load_suite
from photometer.errors import DefinitionError
from photometer.plan import materialize, select
from tests.definition.loaders.projects import asv_project


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    return asv_project(tmp_path)


def named(suite: Suite) -> dict[str, GroupedBenchmark]:
    found = {}
    for entry in suite.entries:
        assert isinstance(entry.benchmark, GroupedBenchmark)
        found[" ".join(entry.label)] = entry.benchmark
    return found


def test_functions_and_methods_are_benchmarks_and_plain_parameters_their_sizes(folder: Path) -> None:
    suite = load_suite(f"asv:{folder}")
    benchmarks = named(suite)
    assert list(benchmarks) == [
        "sums Sums time_sum",
        "sums Sums track_length",
        "sums Cached time_of param1=<built-in function max>",
        "sums Cached time_of param1=<built-in function min>",
        "sums time_nothing",
    ]
    assert suite.name == "benchmarks"
    summed = benchmarks["sums Sums time_sum"]
    assert summed.sizes[0] == (("n", 10), ("kind", "list"))
    assert len(summed.sizes) == 4
    assert summed.timeout_seconds == 33
    assert summed.defined_at == "sums.py:13"
    tracked = benchmarks["sums Sums track_length"]
    assert tracked.figures.metrics == ("tracked",)
    assert not tracked.figures.instructions
    assert [len(select(materialize(suite), words)) for words in ("n=10", "kind=list and n=1000", "time_of")] == [
        4,
        2,
        2,
    ]


def test_what_is_not_measured_is_said_with_the_reason(folder: Path) -> None:
    notes = load_suite(f"asv:{folder}").notes
    assert [note.partition(" left out: ")[0] for note in notes] == [
        "benchmarks.sums: Sums.peakmem_sum",
        "benchmarks.sums: Renewed.time_sort",
        "benchmarks.sums: timeraw_import",
    ]
    assert "new setup after so many runs" in notes[1]
    assert "--memory" in notes[0]


def test_a_benchmark_is_the_same_wherever_its_folder_is(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = materialize(load_suite(f"asv:{folder}"))
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    second = materialize(load_suite(f"asv:{asv_project(moved)}"))
    assert [order.id for order in first] == [order.id for order in second]
    text = (moved / "benchmarks" / "sums.py").read_text()
    (moved / "benchmarks" / "sums.py").write_text(text.replace("work(self.values)", "work(self.values[1:])"))
    third = materialize(load_suite(f"asv:{moved / 'benchmarks'}"))
    changed = [a.label[-1] for a, b in zip(first, third, strict=True) if a.id != b.id]
    # All four sizes of the one whose code has changed.
    assert changed == ["time_sum"] * 4


def test_the_configuration_names_the_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "asv.conf.json").write_text('{\n  // "benchmark_dir": "old",\n  "benchmark_dir": "benchmarks",\n}')
    assert load_suite(f"asv:{tmp_path}") == load_suite(f"asv:{folder}")


def test_one_file_is_a_suite_too(folder: Path) -> None:
    suite = load_suite(f"asv:{folder / 'sums.py'}")
    assert suite.name == "sums"
    assert suite.entries[0].label == ("sums", "Sums", "time_sum")


def test_a_module_that_cannot_be_imported_is_left_out_with_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("x = 1\nimport not_to_be_found\n")
    suite = load_suite(f"asv:{folder}")
    assert len(suite.entries) == 5
    assert suite.notes[0].startswith("benchmarks.broken is left out: broken.py:2: ")
    with pytest.raises(DefinitionError, match=r"broken\.py:2: raised while the suite was loaded"):
        load_suite(f"asv:{folder / 'broken.py'}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def helper(): pass", "has no benchmarks that can be measured"),
        ("def peakmem_a(): pass", "has no benchmarks that can be measured"),
        ("def time_a(:", r"sums\.py:1"),
        ("raise SystemExit(3)", "ends the program"),
        ("input()", "reads standard input"),
    ],
)
def test_mistakes(folder: Path, text: str, told: str) -> None:
    (folder / "sums.py").write_text(text)
    with pytest.raises(DefinitionError, match=told):
        load_suite(f"asv:{folder / 'sums.py'}")


def test_there_must_be_such_a_place_and_its_name_must_be_free(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="there is no file or folder"):
        load_suite(f"asv:{tmp_path / 'nowhere'}")
    (tmp_path / "random.py").write_text("def time_a(): pass")
    with pytest.raises(DefinitionError, match="would hide"):
        load_suite(f"asv:{tmp_path / 'random.py'}")


def test_loading_leaves_this_process_as_it_was(folder: Path) -> None:
    modules, path = set(sys.modules), list(sys.path)
    load_suite(f"asv:{folder}")
    assert not {name for name in set(sys.modules) - modules if name.startswith("benchmarks")}
    assert sys.path == path
    assert not list(folder.rglob("__pycache__"))


MARKED = """
from asv_runner.benchmarks import mark

@mark.parameterize({"n": [1, 2, 3], "kind": ["a", "b"]})
@mark.skip_for_params([(1, "a")])
@mark.timeout_class_at(7)
class Marked:
    @mark.skip_params_if([(2, "a")], False)
    def time_it(self, n, kind):
        pass

    @mark.skip_benchmark_if(True)
    def time_not_here(self, n, kind):
        pass

    @mark.skip_benchmark
    def time_nor_here(self, n, kind):
        pass
"""


def test_marks_of_asv_runner_are_read_without_it(folder: Path) -> None:
    (folder / "marked.py").write_text(MARKED)
    suite = load_suite(f"asv:{folder / 'marked.py'}")
    (marked,) = named(suite).values()
    points = [dict(each) for each in marked.sizes]
    assert len(points) == 5
    assert {"n": 1, "kind": "a"} not in points
    assert marked.timeout_seconds == 7
    assert not suite.notes
    assert "asv_runner" not in sys.modules
