"""The real compiler and the real torch: one batch of snippets of every kind, built once for all tests here."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from photometer.errors import BuildError
from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet
from photometer.worker.native_loop import CppError, NativeLoop

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.slow,
    pytest.mark.skipif(
        not any(shutil.which(name) for name in (os.environ.get("CXX") or "c++", "g++", "clang++")),
        reason="needs a C++ compiler: apt install g++",
    ),
]

ONES = "auto x = torch::ones({4, 4});"
SNIPPETS = {
    "multiply": CppSnippet("auto y = x * x;", ONES),
    "backward": CppSnippet("auto y = (x * x).sum(); y.backward();", f"{ONES} x.requires_grad_(true);"),
    "no semicolon, a comment": CppSnippet("x.add_(1) // in place", f"{ONES} // four by four"),
    "product": CppSnippet("auto y = a * b;", "double a = 2, b = 3;"),
    "dropped": CppSnippet("std::sqrt(a);", "double a = 2;"),
    "accumulate": CppSnippet("sum += a;", "long sum = 0, a = 1;"),
    "skips": CppSnippet("if (a > 1) continue; a += 1;", "int a = 0;"),
    "f is one": CppSnippet('if (f() != 1) throw std::logic_error("another\'s f");', "", "int f() { return 1; }"),
    "f is two": CppSnippet('if (f() != 2) throw std::logic_error("another\'s f");', "", "int f() { return 2; }"),
    "N is a name": CppSnippet("int N = 3; auto y = N;"),
    "throws in setup": CppSnippet("auto y = 1;", 'throw std::runtime_error("not today");'),
    "throws in stmt": CppSnippet("x.view({3});", ONES),
    "throws an int": CppSnippet("throw 42;"),
    "counts its setups": CppSnippet(
        'if (++mine != runs + 1) throw std::logic_error("set up anew"); runs = mine;', "int mine = 0, runs = 0;"
    ),
    "typo": CppSnippet("auto z = x;\nauto y =\n  x.summ();", ONES),
    "false assertion": CppSnippet("auto y = 1;", "", 'static_assert(sizeof(int) == 8, "ints are short");'),
    "linear": CppSnippet("auto y = layer->forward(x);", f"torch::nn::Linear layer(4, 4); {ONES}"),
    "N is a macro": CppSnippet('if (n != N) throw std::logic_error("no macro");', "int n = N;", "#define N 7"),
}

Built = dict[str, "BuiltSnippet | BuildError"]


@pytest.fixture(scope="module")
def options(run_folder: Path) -> CppOptions:
    return CppOptions(cache_folder=run_folder / "cpp")


@pytest.fixture(scope="module")
def outcomes(run_folder: Path, options: CppOptions) -> Built:
    """Build all snippets, or read what became of them where another worker of this test run has."""
    with (run_folder / "snippets.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if text := file.read():
            found = json.loads(text)
        else:
            built = build_snippets(list(SNIPPETS.values()), options=options)
            found = {name: written(outcome) for name, outcome in zip(SNIPPETS, built, strict=True)}
            json.dump(found, file)
    return {
        name: BuildError(**each)
        if "log" in each
        else BuiltSnippet(Path(each["library"]), each["symbol"], each["cached"])
        for name, each in found.items()
    }


def written(outcome: BuiltSnippet | BuildError) -> dict[str, Any]:
    if isinstance(outcome, BuildError):
        return {"message": outcome.message, "log": outcome.log}
    return {"library": str(outcome.library), "symbol": outcome.symbol, "cached": outcome.cached}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def loop(outcomes: Built, name: str) -> NativeLoop:
    outcome = outcomes[name]
    assert isinstance(outcome, BuiltSnippet), outcome
    return NativeLoop(outcome.library, outcome.symbol)


def error(outcomes: Built, name: str) -> BuildError:
    outcome = outcomes[name]
    assert isinstance(outcome, BuildError), outcome
    return outcome


SOUND = ("multiply", "backward", "no semicolon, a comment", "skips", "f is one", "f is two", "N is a name")


@pytest.mark.parametrize("name", [*SOUND, "linear", "N is a macro"])
def test_sound_snippets_run(outcomes: Built, name: str) -> None:
    assert loop(outcomes, name).timeit(100) > 0


@pytest.mark.parametrize("name", ["multiply", "product", "dropped", "accumulate"])
def test_time_grows_with_the_number_of_runs(outcomes: Built, name: str) -> None:
    """A statement that was removed or hoisted would leave an empty loop, or none: a constant time."""
    with loop(outcomes, name).open_blocks() as run_block:
        run_block(1000)
        few = statistics.median(run_block(2_000) for _ in range(9))
        many = statistics.median(run_block(200_000) for _ in range(3))
    assert many > 20 * few


@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump: apt install binutils")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 instructions")
@pytest.mark.parametrize(
    ("name", "work"), [("product", r"mulsd\s"), ("dropped", r"sqrtsd\s"), ("accumulate", r"add\s.*\(%r")]
)
def test_the_loop_holds_the_work(outcomes: Built, name: str, work: str) -> None:
    """Between a backward jump and its target stand the instruction and a read of its operand from memory."""
    outcome = outcomes[name]
    assert isinstance(outcome, BuiltSnippet)
    command = ["objdump", "--disassemble", "--no-show-raw-insn", str(outcome.library)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [
        (int(found[1], 16), found[2])
        for function in re.split(r"\n\n(?=[0-9a-f]+ <)", text)
        if re.match(rf"\s*[0-9a-f]+ <\S*{outcome.symbol}\S*blocks\S*>", function)
        for found in re.finditer(r"^\s*([0-9a-f]+):\s+(.*)$", function, re.MULTILINE)
    ]
    assert lines, "the snippet's function is not in the library"
    loops = []
    for address, instruction in lines:
        jump = re.match(r"j\w+\s+([0-9a-f]+) <", instruction)
        if jump and int(jump[1], 16) <= address:
            loops.append([i for a, i in lines if int(jump[1], 16) <= a <= address])
    body = min(loops, key=len)
    assert any(re.search(work, instruction) for instruction in body), body
    assert any(re.search(r"\(%r\w+\),", instruction) for instruction in body), body


def test_variables_live_on_between_blocks(outcomes: Built) -> None:
    with loop(outcomes, "counts its setups").open_blocks() as run_block:
        for number in (1, 10, 100):
            run_block(number)


def test_exceptions_become_errors_with_their_message(outcomes: Built) -> None:
    with pytest.raises(CppError, match="in setup: std::runtime_error: not today"):
        loop(outcomes, "throws in setup").timeit(1)
    with pytest.raises(CppError, match=r"in stmt: c10::Error: .*shape") as caught:
        loop(outcomes, "throws in stmt").timeit(1)
    assert "frame #0" not in str(caught.value)
    with pytest.raises(CppError, match="in stmt: int: "):
        loop(outcomes, "throws an int").timeit(1)


def test_a_typo_is_reported_in_the_users_lines(outcomes: Built) -> None:
    log = error(outcomes, "typo").log
    assert log is not None
    assert re.match(r"stmt:3:\d+: error: .*summ", log)
    assert "    3 |   x.summ();" in log
    assert "ints are short" not in log
    assert "photometer" not in log


def test_a_false_assertion_is_its_owners_alone(outcomes: Built) -> None:
    log = error(outcomes, "false assertion").log
    assert log is not None
    assert log.startswith("global_setup:1:")
    assert "ints are short" in log
    assert "summ" not in log


def test_the_library_stands_by_itself_and_comes_from_the_cache(outcomes: Built, options: CppOptions) -> None:
    """A fresh process, no torch imported: the library finds libtorch, and no compiler is started (there is none)."""
    script = (
        "import sys; from pathlib import Path\n"
        "from photometer.instruments.cpp.build import build_snippets\n"
        "from photometer.instruments.cpp.snippet import CppOptions, CppSnippet\n"
        "from photometer.worker.native_loop import NativeLoop\n"
        f"(outcome,) = build_snippets([{SNIPPETS['multiply']!r}], options=CppOptions(cache_folder=Path(sys.argv[1])))\n"
        "assert outcome.cached and NativeLoop(outcome.library, outcome.symbol).timeit(10) > 0\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert isinstance(outcomes["multiply"], BuiltSnippet)
    done = subprocess.run([sys.executable, "-c", script, str(options.cache_folder)], check=False)
    assert done.returncode == 0


def test_a_header_of_the_users_is_found_and_watched(options: CppOptions, tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text("#pragma once\ninline int mine() { return 1; }\n")
    mine = replace(options, include_paths=(tmp_path,), extra_flags=("-O1", "-Wall", "-Werror"))
    snippet = CppSnippet("auto unused = mine();", "", '#include "mine.h"')
    (first,) = build_snippets([snippet], options=mine)
    assert isinstance(first, BuiltSnippet), first
    (again,) = build_snippets([snippet], options=mine)
    assert isinstance(again, BuiltSnippet)
    assert again.cached
    assert str(tmp_path / "mine.h") in first.library.with_suffix(".headers.json").read_text()
