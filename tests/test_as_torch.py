"""torch.utils.benchmark can be photometer, for code that cannot be changed; its paths exist under photometer.utils.

photometer.as_torch is never imported here: the tests of other files need torch's own modules.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch.utils.benchmark as torch_benchmark

import photometer
from photometer.errors import SnippetError

MODULES = (
    "common",
    "timer",
    "compare",
    "compile",
    "cpp_jit",
    "fuzzer",
    "sparse_fuzzer",
    "_stubs",
    "valgrind_wrapper.timer_interface",
)
SCRIPT = """
import sys
import torch
import torch.utils.benchmark as benchmark
import torch.utils.benchmark.utils.valgrind_wrapper.timer_interface as counts
from torch.utils.benchmark import *
from torch.utils.benchmark.op_fuzzers.unary import UnaryOpFuzzer
from torch.utils.benchmark.utils.common import Measurement, TaskSpec
from torch.utils.benchmark.examples import simple_timeit
import photometer

assert Timer is benchmark.Timer is torch.utils.benchmark.Timer is photometer.Timer
assert Measurement is photometer.Measurement
assert counts.CallgrindStats is benchmark.CallgrindStats is photometer.CallgrindStats
assert benchmark.timer is photometer.timer
assert issubclass(UnaryOpFuzzer, photometer.Fuzzer)
assert simple_timeit.benchmark_utils.Timer is photometer.Timer
assert not hasattr(benchmark, "nothing")
print(sys.argv[1:], Timer("x + 1", "x = torch.ones(2)").timeit(10))
"""


@pytest.mark.lengthy
def test_a_script_runs_unchanged(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "photometer.as_torch", str(script), "an argument"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "['an argument'] <photometer.Measurement" in done.stdout


def test_it_is_said_how_to_use_it() -> None:
    done = subprocess.run([sys.executable, "-m", "photometer.as_torch"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage" in done.stderr


@pytest.mark.parametrize("below", MODULES)
def test_public_names_of_torchs_modules_are_here(below: str) -> None:
    if below == "compile":
        names = {"bench_all", "benchmark_compile"}  # torch's own prints a line if tabulate is missing
    else:
        theirs = importlib.import_module(f"{torch_benchmark.__name__}.utils.{below}")
        home = getattr(theirs, "__all__", [n for n, value in vars(theirs).items() if _is_of(value, theirs.__name__)])
        names = {name for name in home if not name.startswith("_")} - DELIBERATELY_NOT_HERE
    ours = importlib.import_module(f"photometer.utils.{below}")
    assert names - set(ours.__all__) == set()
    for name in ours.__all__:
        assert getattr(ours, name) is not None
        if hasattr(photometer, name):
            assert getattr(ours, name) is getattr(photometer, name)


# Bindings that torch compiles for its own wrapper, and the type of the modules that it compiles.
DELIBERATELY_NOT_HERE = {"get_compat_bindings", "GlobalsBridge", "TimeitModuleType", "CallgrindModuleType"}


def _is_of(value: object, module: str) -> bool:
    return getattr(value, "__module__", None) == module


def test_a_statement_that_fails_under_valgrind_is_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SnippetError("it failed", exception_type="KeyError", log="KeyError: 'x'")

    monkeypatch.setattr(photometer.Timer, "_count", fail)
    with pytest.raises(OSError, match="KeyError: 'x'") as raised:
        photometer.Timer("pass").collect_callgrind()
    assert isinstance(raised.value, SnippetError)
    assert raised.value.exception_type == "KeyError"


@pytest.mark.nightly
def test_compile_gives_the_first_time_and_a_later_one() -> None:
    import torch

    from photometer.utils.compile import benchmark_compile

    first, later = benchmark_compile(torch.nn.Linear(4, 4), torch.ones(2, 4), 3, backend="eager", mode=None)
    assert first is not None
    assert later is not None
    assert later < first
    with pytest.warns(UserWarning, match="no-such-backend"):
        assert benchmark_compile(torch.sin, torch.ones(2), backend="no-such-backend", mode=None) == (None, None)
