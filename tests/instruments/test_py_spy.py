from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path

import pytest

from photometer.errors import MeasurementError, PhotometerError, SnippetError, ToolMissing, ToolRefused
from photometer.instruments import py_spy
from photometer.instruments.py_spy import SampledStacks, find_py_spy, loop_stacks, refusal_remedy, sample_loop
from photometer.session.session import Session
from photometer.worker.messages import Prepare

OUTSIDE = "<module> (photometer/worker/__main__.py);Child._spin (photometer/worker/child.py)"
LOOP = "_photometer_blocks (<photometer snippet 7>)"


def test_only_what_lies_below_the_loop_is_kept() -> None:
    lines = [
        f"{OUTSIDE};{LOOP};torch::add(int; ) (libtorch.so) 3".replace("; )", ")"),
        f"{OUTSIDE};{LOOP};_photometer_blocks.<locals>.T.f (<photometer snippet 7>) 2",
        f"{OUTSIDE};{LOOP} 4",
        f"{OUTSIDE} 9",
        "not a stack",
        "",
    ]
    assert loop_stacks(lines) == {("torch::add(int) (libtorch.so)",): 3, ("T.f (snippet)",): 2, (): 4}


def test_a_loop_inside_the_statement_is_part_of_it() -> None:
    (stack,) = loop_stacks([f"{LOOP};f (my.py);{LOOP};g (my.py) 1"])
    assert stack == ("f (my.py)", "_photometer_blocks (snippet)", "g (my.py)")


def test_a_compiled_loop_is_found_by_its_symbol() -> None:
    line = "run (x.py);p_run (l.so);p_1_space::p_1_kept_blocks (l.so);p_1_space::mine (l.so);at::add (l.so) 5"
    assert loop_stacks([line], loop="p_1") == {("mine (l.so)", "at::add (l.so)"): 5}


def test_weights_follow_a_time_that_is_better_known() -> None:
    sampled = SampledStacks(((("f",), 75.0), ((), 25.0)), 4, 100e-9, True).scaled_to(200e-9)
    assert sampled.stacks == ((("f",), 150.0), ((), 50.0))
    assert sampled.sample_nanoseconds == pytest.approx(50.0)


def test_no_py_spy_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ToolMissing, match="pip install py-spy"):
        find_py_spy()


@pytest.mark.parametrize(
    ("platform", "scope", "words"),
    [
        ("darwin", None, "sudo"),
        ("linux", "1", "ptrace_scope=0"),
        ("linux", "0", "SYS_PTRACE"),
        ("linux", None, "SYS_PTRACE"),
    ],
)
def test_what_allows_it_depends_on_the_machine(
    platform: str, scope: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ptrace_scope"
    if scope is not None:
        file.write_text(scope)
    monkeypatch.setattr(py_spy, "CONTAINER_MARKS", (tmp_path / "none",))
    assert words in refusal_remedy(platform, file)


def pretend(folder: Path, script: str) -> str:
    program = folder / "py-spy"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        (
            "echo 'Error: Permission Denied: Try running again with sudo' >&2; exit 1",
            ToolRefused,
            "not allowed to inspect",
        ),
        ("echo 'Error: Operation not permitted (os error 1)' >&2; exit 1", ToolRefused, "Run as root"),
        ("echo 'Error: no such process' >&2; exit 1", PhotometerError, "no such process"),
        ("exit 0", MeasurementError, "did not see"),
    ],
)
def test_its_failures_are_distinct(
    script: str,
    kind: type[Exception],
    words: str,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = pretend(tmp_path, script)
    monkeypatch.setattr(py_spy, "find_py_spy", lambda: program)
    with pytest.raises(kind, match=words) as caught:
        sample_loop(session, Prepare(stmt="sum(range(100))"), duration_seconds=1)
    assert isinstance(caught.value, ToolMissing) is (kind is ToolRefused)
    # The server lives on: its next child runs.
    with session.child() as child:
        child.ask(Prepare("pass"))


def test_where_native_frames_cannot_be_had_there_are_pythons(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = 'case "$*" in *--native*) echo "native stack traces are not supported here" >&2; exit 1;; esac'
    write = f"while [ $# -gt 0 ]; do [ $1 = --output ] && echo '{LOOP};f (my.py) 4' > $2; shift; done"
    program = pretend(tmp_path, f"{refuse}\n{write}\nexit 0")
    monkeypatch.setattr(py_spy, "find_py_spy", lambda: program)
    sampled = sample_loop(session, Prepare(stmt="sum(range(100))"), duration_seconds=1)
    assert not sampled.is_native
    assert [stack for stack, _ in sampled.stacks] == [("f (my.py)",)]


@pytest.mark.lengthy
def test_a_statement_that_raises_is_the_users_error(session: Session) -> None:
    with pytest.raises(SnippetError, match="ZeroDivisionError"):
        sample_loop(session, Prepare(stmt="1 / 0"), duration_seconds=1)


@pytest.mark.pyspy
def test_a_statement_is_seen_and_nothing_else(session: Session) -> None:
    setup = (
        "def busy():\n    return sum(i * i for i in range(3000))\n"
        "def idle():\n    return None\n"
        "def both():\n    busy()\n    idle()\n"
    )
    sampled = sample_loop(session, Prepare(stmt="both()", setup=setup), duration_seconds=1, native=False)
    names = {name for stack, _ in sampled.stacks for name in stack}
    assert "both (snippet)" in names
    assert "busy (snippet)" in names
    assert not any("worker" in name or "server" in name for name in names)
    assert sum(weight for _, weight in sampled.stacks) == pytest.approx(sampled.seconds_per_run * 1e9)
    inside = sum(weight for stack, weight in sampled.stacks if "busy (snippet)" in stack)
    assert inside > 0.8 * sampled.seconds_per_run * 1e9


@pytest.mark.pyspy
@pytest.mark.slow
def test_native_frames_are_there(session: Session) -> None:
    sampled = sample_loop(session, Prepare(stmt="torch.add(x, x)", setup="x = torch.ones(4)"), duration_seconds=1)
    assert any("THPVariable_add" in name for stack, _ in sampled.stacks for name in stack)
