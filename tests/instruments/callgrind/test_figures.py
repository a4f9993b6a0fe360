"""Counts per function agree with callgrind_annotate, and repeats become figures."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from photometer.errors import MeasurementError
from photometer.instruments.callgrind.figures import (
    exclusive_counts,
    figures_of,
    function_name,
    function_string,
    inclusive_counts,
    instruction_counts,
)
from photometer.instruments.callgrind.profile import CallgrindProfile, Function
from photometer.model.instruction_counts import FunctionCount, FunctionCounts, InstructionFigures
from photometer.model.task import TaskSpec
from tests.instruments.callgrind import GOLDEN, parse_profile, profile_of
from tests.instruments.callgrind.annotate_output import (
    annotated,
    ours,
    run_callgrind_annotate,
    running_at_the_start,
    without,
)

KINDS = [("exclusive", exclusive_counts), ("inclusive", inclusive_counts)]
TASK = TaskSpec("f()", "pass")


def test_the_three_figures_of_a_dump() -> None:
    assert figures_of(parse_profile(GOLDEN / "plain.out")) == InstructionFigures(11471, 1675, 60)


def test_repeats_that_agree_are_exact_and_have_no_differences() -> None:
    profile = parse_profile(GOLDEN / "plain.out")
    counts = instruction_counts(TASK, 100, [profile, profile])
    assert counts.is_exact
    assert counts.differences == ()
    assert counts.events == {"Ir": 11471}
    assert counts.top_functions[0].count == 2556


def test_a_repeat_that_differs_is_explained_by_its_functions() -> None:
    settled = profile_of({"f": 1000, "free": 50}, [("f", "free", 2, 50)])
    first = profile_of({"f": 1010, "free": 20, "resize": 7}, [("f", "free", 2, 20)])
    counts = instruction_counts(TASK, 1, [first, settled, settled])
    assert counts.stable == InstructionFigures(1050, 1000, 2)
    (difference,) = counts.differences
    assert (difference.repeat, difference.instructions) == (0, -13)
    assert difference.functions == (
        FunctionCount(-30, "free"),
        FunctionCount(10, "f"),
        FunctionCount(7, "resize"),
    )


def test_no_repeats_at_all_is_an_error() -> None:
    with pytest.raises(MeasurementError, match="at least one repeat"):
        instruction_counts(TASK, 1, [])


@pytest.mark.parametrize(("kind", "count"), KINDS)
def test_counts_are_those_that_callgrind_annotate_printed(
    kind: str, count: Callable[[CallgrindProfile], FunctionCounts]
) -> None:
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
