"""An ordinary session with benchmarks: what runs, what is measured and kept, what the table says."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import photometer
from photometer.cli.ending import BESIDES_CTRL_C
from photometer.pytest_plugin.measuring import Measuring
from photometer.pytest_plugin.options import DEFAULT_MIN_TIME_SECONDS, Asked
from photometer.pytest_plugin.running import BenchmarkRun
from tests.guards.sources import shown_files
from tests.pytest_plugin.nested_session import plugin_options, records_in, run_nested

pytestmark = pytest.mark.lengthy

MIXED = """
    def test_plain():
        pass

    def test_sorted(photometer):
        assert photometer(sorted, [3, 1, 2]) == [1, 2, 3]
"""
FAST = "--photometer-min-time=0.005"


def test_a_benchmark_is_measured_and_its_result_returned(tmp_path: Path) -> None:
    done = run_nested(tmp_path, MIXED, FAST, f"--photometer-json={tmp_path / 'results.json'}")
    assert done.outcomes == {"test_plain": "passed", "test_sorted": "passed"}
    assert "test_sorted" in done.output
    assert "median" in done.output
    (measured,) = photometer.load(tmp_path / "results.json").measurements
    assert measured.task_spec.sub_label == "test_sorted"
    assert measured.median > 0
    (record,) = records_in(tmp_path / "results.json")
    assert record["test"].endswith("::test_sorted")
    assert record["order"]["label"][1] == "test_sorted"


def test_options_of_a_real_pytest_benchmark_are_its_own() -> None:
    """Its --benchmark-max-time is text, and there even if nobody gave it."""
    options = SimpleNamespace(photometer_off=False, photometer_min_time=None, benchmark_max_time="1.0")
    manager = SimpleNamespace(hasplugin=lambda name: name == "benchmark")
    config: Any = SimpleNamespace(option=options, pluginmanager=manager, stash={})
    test: Any = SimpleNamespace()
    engine = BenchmarkRun(config).make_engine(test, Asked())
    assert isinstance(engine, Measuring)
    assert engine._min_time_seconds == DEFAULT_MIN_TIME_SECONDS


# What pytest-benchmark does if the fixture `benchmark` is of another plugin.
REFUSING = """
import pytest

@pytest.fixture
def benchmark():
    raise TypeError("pytest-benchmark's own")

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    yield
    raise TypeError("must be a fixture of pytest-benchmark")
"""


def test_pytest_benchmark_has_no_part_in_a_session_with_photometers_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its plugin has this name, too.
    (tmp_path / "benchmark.py").write_text(REFUSING)
    monkeypatch.syspath_prepend(tmp_path)
    code = "def test_it(benchmark): assert benchmark(sum, [1, 2]) == 3"
    done = run_nested(tmp_path, code, "-p", "benchmark", "--photometer-benchmark", FAST)
    sys.modules.pop("benchmark")
    assert done.outcomes == {"test_it": "passed"}, done.output


def test_nothing_is_written_or_shown_without_benchmarks(tmp_path: Path) -> None:
    done = run_nested(tmp_path, "def test_plain(): pass", f"--photometer-json={tmp_path / 'results.json'}")
    assert done.code == 0
    assert "median" not in done.output
    assert not (tmp_path / "results.json").exists()


@pytest.mark.parametrize("option", ["--photometer-only", "--benchmark-only"])
def test_only(tmp_path: Path, option: str) -> None:
    done = run_nested(tmp_path, MIXED, FAST, option)
    assert done.outcomes == {"test_plain": "skipped", "test_sorted": "passed"}


@pytest.mark.parametrize("option", ["--photometer-skip", "--benchmark-skip"])
def test_skip(tmp_path: Path, option: str) -> None:
    done = run_nested(tmp_path, MIXED, option)
    assert done.outcomes == {"test_plain": "passed", "test_sorted": "skipped"}
    assert "median" not in done.output


def test_off_calls_the_function_once(tmp_path: Path) -> None:
    code = """
        def test_counted(photometer):
            calls = []
            photometer(calls.append, 1)
            assert calls == [1]
            assert photometer.measurement is None
    """
    done = run_nested(tmp_path, code, "--photometer-off")
    assert done.outcomes == {"test_counted": "passed"}, done.texts
    assert "median" not in done.output


def test_off_imports_no_torch(tmp_path: Path) -> None:
    (tmp_path / "test_off.py").write_text(
        "import sys\n\ndef test_off(photometer):\n    photometer(max, 1, 2)\n    assert 'torch' not in sys.modules\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin_options(), "--photometer-off"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_parameters_fixtures_groups_and_marks(tmp_path: Path) -> None:
    code = """
        import pytest, torch

        @pytest.fixture
        def tensor(size):
            return torch.ones(size)

        @pytest.mark.photometer(group="sums", threads=1)
        @pytest.mark.parametrize("size", [2, 4])
        def test_sum(photometer, tensor):
            photometer.extra_info["elements"] = tensor.numel()
            assert photometer(torch.sum, tensor) == tensor.numel()
    """
    file = tmp_path / "results.json"
    done = run_nested(tmp_path, code, FAST, f"--photometer-json={file}")
    assert done.outcomes == {"test_sum[2]": "passed", "test_sum[4]": "passed"}, done.texts
    measured = photometer.load(file).measurements
    assert [each.task_spec.label for each in measured] == ["sums", "sums"]
    assert [each.metadata for each in measured] == [{"elements": 2}, {"elements": 4}]
    assert len({record["order"]["id"] for record in records_in(file)}) == 2


def test_a_failure_in_the_function_fails_the_test_and_leaves_no_row(tmp_path: Path) -> None:
    done = run_nested(tmp_path, "def test_bad(photometer):\n    photometer(lambda: 1 / 0)\n", FAST)
    assert done.outcomes == {"test_bad": "failed"}
    assert "ZeroDivisionError" in done.texts["test_bad"]
    assert "median" not in done.output


def test_a_wrong_mark_is_told(tmp_path: Path) -> None:
    code = """
        import pytest

        @pytest.mark.photometer(thread=2)
        def test_marked(photometer):
            photometer(max, 1, 2)
    """
    done = run_nested(tmp_path, code)
    assert "thread is unknown; give" in done.texts["test_marked"]


def test_hostile_names_are_made_visible(tmp_path: Path) -> None:
    code = """
        import pytest

        @pytest.mark.photometer(group="red \\x1b[31m")
        def test_red(photometer):
            photometer(max, 1, 2)
    """
    done = run_nested(tmp_path, code, FAST)
    assert "\x1b[31m" not in done.output
    assert "\\x1b" in done.output


def test_ab_returns_a_verdict_which_is_kept_and_shown(tmp_path: Path) -> None:
    code = """
        def quick():
            return sum(range(10))

        def slow():
            return sum(range(100_000))

        def test_slow(photometer):
            verdict = photometer.ab(quick, slow, budget=60.0)
            assert verdict.verdict == "slower"
    """
    file = tmp_path / "results.json"
    done = run_nested(tmp_path, code, f"--photometer-json={file}")
    assert done.outcomes == {"test_slow": "passed"}, done.texts
    assert "slow against quick: slower" in done.output
    (ranking,) = photometer.load(file)
    assert {pair.second for pair in ranking.pairs} == {"slow"}


def test_results_go_to_a_store(tmp_path: Path) -> None:
    from photometer.history.connection import make_store
    from photometer.history.store import open_store

    place = tmp_path / "history.db"
    make_store(str(place))
    done = run_nested(tmp_path, MIXED, FAST, f"--photometer-store={place}")
    assert f"stored: {place}" in done.output.replace("\n", ""), done.output
    with open_store(str(place)) as store:
        assert len(store.runs()) == 1


def test_a_results_file_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for file in (tmp_path / "missing" / "results.json", tmp_path / "folder", tmp_path / ("a" * 300)):
        for option in ("photometer", "benchmark"):
            done = run_nested(tmp_path, MIXED, FAST, f"--{option}-json={file}")
            assert done.code == pytest.ExitCode.USAGE_ERROR, file
            assert done.outcomes == {}
    done = run_nested(tmp_path, MIXED, FAST, f"--photometer-store={tmp_path / 'missing' / 'history.db'}")
    assert done.code == pytest.ExitCode.USAGE_ERROR
    assert done.outcomes == {}


def test_a_results_file_that_is_lost_meanwhile_fails_the_session(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    code = f"""
    from pathlib import Path

    def test_sorted(photometer):
        photometer(sorted, [3, 1, 2])
        Path({str(folder)!r}).rmdir()
    """
    done = run_nested(tmp_path, code, FAST, f"--photometer-json={folder / 'results.json'}")
    assert done.outcomes == {"test_sorted": "passed"}
    assert "results are not kept" in done.output
    assert done.code == pytest.ExitCode.TESTS_FAILED


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "pytest.md"
    written = [text for name, text in shown_files(page).items() if name.startswith("test_")]
    assert len(written) == 2
    done = run_nested(tmp_path, "\n".join(written), FAST)
    assert set(done.outcomes.values()) == {"passed"}, done.texts
    assert len(done.outcomes) == 4


def test_sigterm_ends_it_with_the_table_and_the_files(tmp_path: Path) -> None:
    # Not to leave them ignored for the tests that follow.
    before = {number: signal.getsignal(number) for number in BESIDES_CTRL_C}
    code = """
        import os, signal

        def test_measured(benchmark):
            benchmark(sum, [1, 2])

        def test_stopped(benchmark):
            os.kill(os.getpid(), signal.SIGTERM)

        def test_not_reached(benchmark):
            benchmark(sum, [1, 2])
    """
    try:
        done = run_nested(tmp_path, code, FAST, "--benchmark-json", str(tmp_path / "it.json"))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert done.code == pytest.ExitCode.INTERRUPTED
    assert done.outcomes == {"test_measured": "passed"}
    assert re.search(r"^  test_measured +\S+ [mµn]?s", done.output, re.MULTILINE)
    (written,) = json.loads((tmp_path / "it.json").read_text())["benchmarks"]
    assert written["name"] == "test_measured"


@pytest.mark.slow
def test_workers_of_xdist_send_their_results_and_one_has_all_benchmarks(tmp_path: Path) -> None:
    tests = "\n\n".join(
        f"def test_{n}(photometer, worker_id):\n"
        f"    photometer.extra_info['worker'] = worker_id\n"
        f"    photometer(max, 1, {n})"
        for n in range(4)
    )
    (tmp_path / "test_shared.py").write_text(tests + "\n\ndef test_plain():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider", *plugin_options(), FAST]
    done = subprocess.run(
        [*command, "--photometer-json=results.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_3" in done.stdout
    measured = photometer.load(tmp_path / "results.json").measurements
    assert len(measured) == 4
    assert len({json.dumps(each.metadata) for each in measured}) == 1
