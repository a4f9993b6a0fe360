from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from photometer.instruments.callgrind.annotate import (
    exclusive_counts,
    function_name,
    function_string,
    inclusive_counts,
)
from photometer.instruments.callgrind.parser import parse_profile
from photometer.instruments.callgrind.profile import Function
from tests.instruments.callgrind import GOLDEN
from tests.instruments.callgrind.annotate_output import (
    annotated,
    ours,
    run_callgrind_annotate,
    running_at_the_start,
    without,
)

KINDS = [("exclusive", exclusive_counts), ("inclusive", inclusive_counts)]


@pytest.mark.parametrize(("kind", "count"), KINDS)
def test_counts_are_those_that_callgrind_annotate_printed(kind: str, count) -> None:
    profile = parse_profile(GOLDEN / "plain.out")
    printed = annotated((GOLDEN / f"plain.{kind}.txt").read_text())
    apart = running_at_the_start(profile)
    assert without(ours(count(profile)), apart) == without(printed, apart)
    assert len(apart) == 5


def test_exclusive_counts_sum_to_the_total_and_other_events_can_be_asked_for() -> None:
    profile = parse_profile(GOLDEN / "simulated.out")
    for event in profile.events:
        assert exclusive_counts(profile, event).sum() == profile.total(event)


def test_the_object_is_named_for_inlined_code_too() -> None:
    functions = {function for _, function in exclusive_counts(parse_profile(GOLDEN / "plain.out"))}
    assert "/golden/small.c:allocate [/golden/small]" in functions
    assert "/golden/inlined.h:allocate [/golden/small]" in functions


def test_an_unknown_object_is_left_out() -> None:
    assert function_string(Function("???", "???", "0x1234")) == "???:0x1234"


def test_the_name_alone() -> None:
    function = Function("/l/libtorch.so", "???", "ns::f(int) [clone .isra.0]")
    assert function_name(function_string(function)) == function.name
    assert function_name("a.c:f") == "f"


@pytest.mark.valgrind
@pytest.mark.compiler
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--dump-instr=yes", "--collect-jumps=yes", "--cache-sim=yes", "--branch-sim=yes"],
        ["--compress-strings=no", "--compress-pos=no", "--separate-recs=4"],
        ["--separate-callers=3"],
    ],
    ids=["plain", "simulated", "uncompressed", "callers"],
)
def test_agrees_with_callgrind_annotate_on_a_real_program(tmp_path: Path, options: list[str]) -> None:
    for tool in ("valgrind", "callgrind_annotate", "gcc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    program = tmp_path / "small"
    subprocess.run(["gcc", "-O1", "-g", str(GOLDEN / "small.c"), "-o", str(program)], check=True)
    out = tmp_path / "out"
    command = ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={out}", *options]
    subprocess.run([*command, str(program)], check=True, capture_output=True)
    path = tmp_path / "out.2"
    profile = parse_profile(path)
    apart = running_at_the_start(profile)
    for kind, count in KINDS:
        printed = annotated(run_callgrind_annotate(path, inclusive=kind == "inclusive"))
        assert without(ours(count(profile)), apart) == without(printed, apart)
        assert len(without(printed, apart)) > 10


@pytest.mark.valgrind
def test_agrees_with_callgrind_annotate_on_the_python_interpreter(tmp_path: Path) -> None:
    for tool in ("valgrind", "callgrind_annotate"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    out = tmp_path / "out"
    command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]
    subprocess.run([*command, sys.executable, "-S", "-E", "-c", "sum(range(1000))"], check=True, capture_output=True)
    profile = parse_profile(out)
    apart = running_at_the_start(profile)
    for kind, count in KINDS:
        printed = annotated(run_callgrind_annotate(out, inclusive=kind == "inclusive"))
        mine = without(ours(count(profile)), apart)
        assert mine == without(printed, apart)
        assert any(re.search(r"_PyEval_EvalFrameDefault|0x", name) for name in mine)
