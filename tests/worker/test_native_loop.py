"""NativeLoop against a small library in C that speaks the same calls: blocks, set-up once, errors, hooks."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from photometer.worker.native_loop import CppError, NativeLoop

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler: apt install gcc"),
]

# Counts what happens; a run "takes" one second; the statement throws in the run numbered `fail_at`.
_LIBRARY = r"""
#include <stdint.h>
#include <string.h>
int64_t setups, closes, runs, hooks, fail_at = -1;
void hook(void) { hooks++; }
void* snippet(char* error, size_t size) { setups++; return &setups; }
void* bad_setup(char* error, size_t size) { strncpy(error, "std::runtime_error\nno\nluck", size); return 0; }
int photometer_run_block(void* blocks, int64_t n, void (*before)(void), void (*after)(void), double* seconds,
                         char* error, size_t size) {
  if (before) before();
  runs += n;
  if (after) after();
  *seconds = n;
  if (fail_at >= 0 && runs >= fail_at) { strncpy(error, "c10::Error\nbad dim", size); return 1; }
  return 0;
}
void photometer_close_blocks(void* blocks) { closes++; }
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return compile_library(tmp_path)


def compile_library(folder: Path) -> Path:
    source, library = folder / "snippet.c", folder / "snippet.so"
    source.write_text(_LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


def variable(library: Path, name: str) -> ctypes.c_int64:
    return ctypes.c_int64.in_dll(ctypes.CDLL(str(library)), name)


def counts(library: Path) -> dict[str, int]:
    return {name: variable(library, name).value for name in ("setups", "runs", "closes")}


def test_timeit_sets_up_warms_up_once_and_times_the_rest(library: Path) -> None:
    loop = NativeLoop(library, "snippet")
    assert loop.timeit(10) == 10.0
    assert counts(library) == {"setups": 1, "runs": 11, "closes": 1}
    loop.timeit(5)
    assert counts(library) == {"setups": 2, "runs": 17, "closes": 2}


def test_many_blocks_share_one_setup(library: Path) -> None:
    with NativeLoop(library, "snippet").open_blocks() as run_block:
        assert [run_block(n) for n in (1, 2, 3)] == [1.0, 2.0, 3.0]
        assert counts(library) == {"setups": 1, "runs": 6, "closes": 0}
    assert counts(library)["closes"] == 1


def test_blocks_are_closed_after_an_error_of_the_caller_too(library: Path) -> None:
    with pytest.raises(KeyError), NativeLoop(library, "snippet").open_blocks():
        raise KeyError
    assert counts(library)["closes"] == 1


def test_an_exception_of_the_setup_has_type_and_message(library: Path) -> None:
    with pytest.raises(CppError, match=r"in setup: std::runtime_error: no\nluck") as caught:
        NativeLoop(library, "bad_setup").timeit(1)
    assert caught.value.exception_type == "std::runtime_error"
    assert caught.value.cpp_message == "no\nluck"
    assert counts(library)["closes"] == 0


def test_an_exception_of_the_statement_ends_these_blocks_but_not_the_loop(library: Path) -> None:
    loop = NativeLoop(library, "snippet")
    variable(library, "fail_at").value = 3
    with loop.open_blocks() as run_block:
        run_block(1)
        with pytest.raises(CppError, match="in stmt: c10::Error: bad dim"):
            run_block(5)
        with pytest.raises(RuntimeError, match="open new blocks"):
            run_block(1)
    assert counts(library) == {"setups": 1, "runs": 6, "closes": 1}
    variable(library, "fail_at").value = -1
    assert loop.timeit(1) == 1.0


def test_synchronize_is_called_before_each_clock_read(library: Path) -> None:
    calls = []
    loop = NativeLoop(library, "snippet", synchronize=lambda: calls.append(counts(library)["runs"]))
    with loop.open_blocks() as run_block:
        seconds = run_block(7)
    assert calls == [0, 7]
    # The snippet's own clock counts its runs; Python's, around both calls, has other figures.
    assert seconds > 0
    assert seconds != 7.0


def test_native_hooks_are_called_around_the_block(library: Path) -> None:
    hook = ctypes.cast(ctypes.CDLL(str(library)).hook, ctypes.c_void_p).value
    with NativeLoop(library, "snippet").open_blocks(before=hook, after=hook) as run_block:
        run_block(1)
    assert variable(library, "hooks").value == 2


def test_a_missing_library_or_symbol_is_named(library: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.so"):
        NativeLoop(tmp_path / "none.so", "snippet")
    with pytest.raises(AttributeError, match="no_such"):
        NativeLoop(library, "no_such")
