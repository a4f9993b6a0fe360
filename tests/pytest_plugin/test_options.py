"""What marks and options ask for."""

from __future__ import annotations

import argparse
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from photometer.pytest_plugin.options import Asked, asked_of, is_benchmark, is_given, seconds, share


def photometer_mark(*args: Any, **kwargs: Any) -> Any:
    return SimpleNamespace(name="photometer", args=args, kwargs=kwargs)


def benchmark_mark(**kwargs: Any) -> Any:
    return SimpleNamespace(name="benchmark", args=(), kwargs=kwargs)


def item(*marks: Any, fixtures: tuple[str, ...] = ()) -> Any:
    """A test with these marks, the nearest first."""
    return SimpleNamespace(
        iter_markers=lambda name: [mark for mark in marks if mark.name == name], fixturenames=fixtures
    )


def config(**options: Any) -> Any:
    return SimpleNamespace(option=SimpleNamespace(**options))


def test_a_test_without_marks_asks_for_the_usual() -> None:
    assert asked_of(item()) == Asked()


def test_the_nearest_mark_wins_and_others_fill_in() -> None:
    near, far = photometer_mark(threads=2), photometer_mark(threads=4, group="sums")
    assert asked_of(item(near, far)) == Asked(group="sums", threads=2)


def test_the_mark_of_pytest_benchmark_is_understood() -> None:
    mark = benchmark_mark(group="old", min_time=0.5, max_time=1.0, min_rounds=7, disable_gc=True)
    assert asked_of(item(mark)) == Asked(group="old", min_time=1.0)
    assert asked_of(item(benchmark_mark(max_time=0))) == Asked(min_time=0.001)
    assert asked_of(item(mark, photometer_mark(group="new"))).group == "new"


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (photometer_mark(thread=2), "thread is unknown"),
        (photometer_mark("fast"), "'fast' is unknown"),
        (photometer_mark(threads=0), "threads is 0"),
        (photometer_mark(margin=5), "margin is 5"),
        (photometer_mark(min_time=0), "min_time is 0"),
        (photometer_mark(group=3), "group and device must be strings"),
    ],
)
def test_a_mark_that_cannot_be_meant_says_so(mark: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        asked_of(item(mark))


def test_what_uses_a_fixture_is_a_benchmark() -> None:
    assert is_benchmark(item(fixtures=("tmp_path", "benchmark")))
    assert is_benchmark(item(fixtures=("photometer",)))
    assert not is_benchmark(item(fixtures=("tmp_path",)))


def test_options_of_pytest_benchmark_mean_the_same() -> None:
    assert is_given(config(photometer_only=False, benchmark_only=True), "only")
    assert is_given(config(photometer_off=False, benchmark_disable=True), "off")
    assert not is_given(config(photometer_off=False, benchmark_disable=True, benchmark_enable=True), "off")
    assert not is_given(config(photometer_skip=False), "skip")


def test_shares_and_seconds() -> None:
    assert share("1%") == pytest.approx(0.01)
    assert share("0.003") == 0.003
    assert seconds("0.5") == 0.5
    for convert, text in ((share, "1.5"), (share, "many"), (seconds, "0"), (seconds, "nan"), (seconds, "inf")):
        with pytest.raises(argparse.ArgumentTypeError):
            convert(text)


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys\nimport photometer.pytest_plugin, photometer.pytest_plugin.running\n"
        "heavy = {'torch', 'numpy', 'scipy', 'rich', 'msgspec', 'photometer.timing'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
