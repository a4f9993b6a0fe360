"""Suites written for pytest-benchmark run unchanged: what its documentation shows, as tests of our own."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

import photometer
from tests.pytest_plugin.nested_session import records_in, run_nested

pytestmark = pytest.mark.lengthy

FAST = "--photometer-min-time=0.005"


def test_the_ways_to_call_it(tmp_path: Path) -> None:
    code = """
        import functools, time
        import pytest

        def work(duration=0.00001):
            time.sleep(duration)
            return 123

        def test_by_call(benchmark):
            assert benchmark(work) == 123

        def test_with_arguments(benchmark):
            assert benchmark(work, duration=0.00002) == 123
            assert benchmark.stats.stats.min >= 0.00002

        def test_by_lambda(benchmark):
            assert benchmark(lambda: work(0.00001)) == 123

        def test_as_decorator(benchmark):
            @benchmark
            def result():
                return work()
            assert result == 123

        def test_extra_info(benchmark):
            benchmark.extra_info["foo"] = "bar"
            benchmark(work)
            benchmark.extra_info["after"] = [1, 2]

        @pytest.mark.benchmark(
            group="naps", min_time=0.5, max_time=0.001, min_rounds=5, timer=time.perf_counter, warmup=False
        )
        def test_marked(benchmark):
            benchmark(work)
            assert benchmark.group == "naps"

        class TestInClass:
            @pytest.mark.parametrize("n", range(2))
            def test_method(self, benchmark, n):
                assert benchmark(functools.partial(max, n), 7) == 7

        def test_group_by_attribute(benchmark):
            benchmark.group = "by attribute"
            benchmark(work)

        def test_without_it():
            assert work() == 123
    """
    file = tmp_path / "results.json"
    done = run_nested(tmp_path, code, FAST, f"--photometer-json={file}")
    assert set(done.outcomes.values()) == {"passed"}, done.texts
    measured = {each.task_spec.sub_label: each for each in photometer.load(file).measurements}
    assert len(measured) == 9
    assert measured["test_extra_info"].metadata == {"foo": "bar", "after": [1, 2]}
    assert measured["test_marked"].task_spec.label == "naps"
    assert measured["test_group_by_attribute"].task_spec.label == "by attribute"


def test_pedantic(tmp_path: Path) -> None:
    code = """
        import pytest

        def test_rounds(benchmark):
            calls = []
            benchmark.pedantic(calls.append, args=(1,), rounds=3, iterations=4, warmup_rounds=2)
            # One more for the value.
            assert len(calls) == (2 + 3) * 4 + 1
            assert benchmark.stats["rounds"] == 3

        def test_setup_and_teardown(benchmark):
            made, gone = [], []

            def setup():
                made.append([3, 1, 2])
                return (made[-1],), {"reverse": True}

            def target(numbers, reverse):
                assert numbers == [3, 1, 2]
                numbers.sort(reverse=reverse)

            benchmark.pedantic(target, setup=setup, teardown=lambda numbers, reverse: gone.append(numbers), rounds=5)
            assert len(made) == len(gone) == 5

        def test_a_single_round_is_the_only_run(benchmark):
            calls = []
            assert benchmark.pedantic(lambda: calls.append(1) or "value") == "value"
            assert calls == [1]

        def test_arguments_twice(benchmark):
            with pytest.raises(TypeError):
                benchmark.pedantic(max, args=(1, 2), setup=lambda: ((1,), {}), rounds=2)

        def test_several_iterations_of_one_setup(benchmark):
            with pytest.raises(ValueError):
                benchmark.pedantic(max, setup=lambda: ((1, 2), {}), iterations=2)

        def test_once_only(benchmark):
            benchmark(max, 1, 2)
            with pytest.raises(Exception):
                benchmark(max, 1, 2)
    """
    done = run_nested(tmp_path, code, FAST)
    assert set(done.outcomes.values()) == {"passed"}, done.texts


def test_its_options_and_hooks_do_not_break_a_suite(tmp_path: Path) -> None:
    conftest = """
        def pytest_benchmark_update_json(config, benchmarks, output_json):
            raise AssertionError("nobody calls this")

        def pytest_benchmark_scale_unit(config, unit, benchmarks, best, worst, sort):
            raise AssertionError("nobody calls this")
    """
    options = ["--benchmark-sort=mean", "--benchmark-autosave", "--benchmark-warmup=on", "--benchmark-max-time=0.005"]
    code = "def test_max(benchmark):\n    benchmark(max, 1, 2)\n"
    done = run_nested(tmp_path, code, *options, conftest=conftest)
    assert done.outcomes == {"test_max": "passed"}, done.output
    assert "photometer: ignored --benchmark-sort, --benchmark-warmup" in done.output


def test_disabled_it_calls_once(tmp_path: Path) -> None:
    code = """
        def test_max(benchmark):
            calls = []
            benchmark(calls.append, 1)
            assert benchmark.disabled and benchmark.stats is None and calls == [1]
    """
    assert run_nested(tmp_path, code, "--benchmark-disable").outcomes == {"test_max": "passed"}


def test_its_profile_is_shown_and_kept(tmp_path: Path) -> None:
    code = """
        import pytest

        def inner():
            return 7

        def outer():
            return inner()

        @pytest.mark.benchmark(cprofile=True)
        def test_marked(benchmark):
            assert benchmark.pedantic(outer) == 7

        def test_plain(benchmark):
            benchmark.pedantic(outer)
    """
    file = tmp_path / "results.json"
    done = run_nested(tmp_path, code, f"--photometer-json={file}")
    assert "::test_marked: cProfile by cumtime" in done.output
    assert "(inner)" in done.output
    assert "::test_plain: cProfile" not in done.output
    kept = {record["test"].partition("::")[2]: record.get("metadata") or {} for record in records_in(file)}
    assert [row["ncalls"] for row in kept["test_marked"]["cprofile"] if "(outer)" in row["function_name"]] == [1]
    assert "cprofile" not in kept["test_plain"]
    asked = run_nested(tmp_path, code, "--benchmark-cprofile=function_name", "--benchmark-cprofile-top=1")
    assert "::test_plain: cProfile by function_name" in asked.output
    assert asked.output.count("(inner)") + asked.output.count("(outer)") < 4


def test_weave_without_its_library_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aspectlib", None)
    code = """
        import math

        def test_method(benchmark):
            benchmark.weave(math.sqrt)

        def test_fixture(benchmark_weave):
            benchmark_weave(math.sqrt)
    """
    done = run_nested(tmp_path, code)
    assert set(done.outcomes.values()) == {"failed"}
    assert all("pip install aspectlib" in text for text in done.texts.values())


def test_woven_functions_are_measured_when_they_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for aspectlib: it replaces an attribute of a module and puts it back."""
    (tmp_path / "aspectlib.py").write_text(
        textwrap.dedent("""
        import importlib

        class weave:
            def __init__(self, target, aspect):
                self.module, _, self.name = target.rpartition(".")
                self.module = importlib.import_module(self.module)
                self.before = getattr(self.module, self.name)
                setattr(self.module, self.name, aspect(self.before))

            def rollback(self):
                setattr(self.module, self.name, self.before)
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "aspectlib", raising=False)
    code = """
        import cmath

        def test_woven(benchmark_weave, benchmark):
            benchmark_weave("cmath.sqrt")
            assert cmath.sqrt(4.0) == 2.0
            assert benchmark.stats.rounds > 1

        def test_put_back():
            assert type(cmath.sqrt).__name__ == "builtin_function_or_method"
    """
    done = run_nested(tmp_path, code, FAST)
    assert set(done.outcomes.values()) == {"passed"}, done.texts


def test_what_cannot_be_kept_as_it_is_is_kept_as_text(tmp_path: Path) -> None:
    code = """
        def test_max(benchmark):
            benchmark.extra_info["function"] = object
            benchmark(max, 1, 2)
    """
    file = tmp_path / "results.json"
    run_nested(tmp_path, code, FAST, f"--photometer-json={file}")
    (record,) = records_in(file)
    assert record["metadata"] == {"function": "<class 'object'>"}
