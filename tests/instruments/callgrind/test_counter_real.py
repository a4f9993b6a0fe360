"""Counting for real: exact, independent of what else is counted, and alive after whatever a statement does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from photometer import CallgrindStats, Timer
from photometer.errors import SnippetError, WorkerCrashed, WorkerTimeout
from photometer.instruments.callgrind import counter as counting
from photometer.instruments.callgrind.count_task import CountTask, copy_globals
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.simulated_caches import SIMULATING
from photometer.model.copy_if_callgrind import CopyIfCallgrind
from photometer.model.instruction_counts import InstructionFigures
from photometer.model.task import TaskSpec
from photometer.session.policy import simd_variables
from photometer.session.session import Server, Session
from photometer.session.shared import process_session
from tests.compiled import TWO_ONES
from tests.waiting import wait_until_gone

pytestmark = [pytest.mark.valgrind, pytest.mark.slow, pytest.mark.warm]

TENSORS = "x = torch.ones(4); y = torch.ones(4)"

# vmovaps zmm0, zmm0; ret: harmless where the processor has it, unknown to Valgrind.
AVX512 = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("62f17c4828c0c3"))
function = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
"""


@pytest.fixture(scope="module")
def counter() -> Iterator[InstructionCounter]:
    with Session() as session:
        yield InstructionCounter(session)


def idle_servers(counter: InstructionCounter) -> list[Server]:
    return list(counter._session._idle[counter._kind])


def task(stmt: str, setup: str = TENSORS, **options: object) -> CountTask:
    return CountTask(TaskSpec(stmt, setup), **options)  # type: ignore[arg-type]


def figures(counter: InstructionCounter, stmt: str, setup: str = TENSORS, **options: object) -> InstructionFigures:
    return counter.count(task(stmt, setup, **options)).instruction_counts().stable


def test_counts_are_identical_whatever_was_counted_between(counter: InstructionCounter) -> None:
    first = figures(counter, "x * y")
    figures(counter, "torch.softmax(x, 0)")
    figures(counter, "x.sum()", number=7)
    again = figures(counter, "x * y")
    assert (again.outside_allocator, again.allocator_calls) == (first.outside_allocator, first.allocator_calls)
    # What the allocator does for a call depends on what the heap holds: one run of many differed by 32 in a million.
    assert again.total == pytest.approx(first.total, rel=1e-3)
    assert first.total > first.outside_allocator > 0
    assert first.allocator_calls > 0


def test_an_added_comparison_of_identity_is_seen(counter: InstructionCounter) -> None:
    statements = ("x * y", "x * y; x is y", "x * y; x is y; x is y")
    one, two, three = (figures(counter, stmt).outside_allocator for stmt in statements)
    assert one < two < three
    # The same each time it is counted, and the second as much as the first to half an instruction a run: which of a
    # stripped interpreter's functions allocate cannot be told by name.
    assert (
        figures(counter, statements[1]).outside_allocator - figures(counter, statements[0]).outside_allocator
        == two - one
    )
    assert three - two == pytest.approx(two - one, abs=50)


def test_the_loops_own_cost_is_taken_away(counter: InstructionCounter) -> None:
    nothing = counter.count(task("pass", "pass")).instruction_counts()
    assert nothing.without_loop.outside_allocator == 0
    assert nothing.stable.total > 0
    by_number = [
        counter.count(task("x * y", number=number, repeats=2)).instruction_counts().outside_allocator_per_run
        for number in (50, 200)
    ]
    assert by_number[0] == pytest.approx(by_number[1], rel=1e-3)


def test_allocations_are_counted_as_calls(counter: InstructionCounter) -> None:
    once, twice = (
        counter.count(task(stmt, "pass")).instruction_counts().without_loop.allocator_calls
        for stmt in ("bytes(5000)", "bytes(5000); bytes(5000)")
    )
    assert once >= 200  # 100 runs, each allocates and frees
    assert twice == 2 * once


def test_repeats_start_from_one_state(counter: InstructionCounter) -> None:
    """What grows from run to run, or settles only after many, is the same in every repeat; totals included."""
    for stmt, setup in (
        ("v.append(1)", "v = []"),
        ("(x * y).sum().backward()", "x = y = torch.ones(4, requires_grad=True)"),
    ):
        counts = counter.count(task(stmt, setup, repeats=4)).instruction_counts()
        assert counts.is_exact, stmt
        assert len(set(counts.outside_allocator)) == 1


def test_repeats_that_take_long_run_in_several_servers(
    counter: InstructionCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = counter.count(task("x * y", repeats=4)).instruction_counts()
    monkeypatch.setattr(counting, "LONG_REPEAT_SECONDS", 0.0)
    monkeypatch.setattr(counting, "usable_cores", lambda: (0, 1))
    for each in idle_servers(counter)[1:]:
        each.close()
    together = counter.count(task("x * y", repeats=4)).instruction_counts()
    assert len([each for each in idle_servers(counter) if each.alive]) == 2
    assert together.totals == alone.totals
    monkeypatch.setattr(counting, "available_bytes", lambda: 1)
    assert counting._at_once(counting.Repeat([], "", 60.0, 1 << 30)) == 1, "memory is short"


def test_repeats_that_differ_name_the_functions(counter: InstructionCounter) -> None:
    setup = "import os; n = int.from_bytes(os.urandom(1), 'big')"
    chance = counter.count(task("list(range(n))", setup, repeats=4)).instruction_counts()
    assert not chance.is_exact
    assert chance.difference_reasons


def test_stats_have_torchs_fields(counter: InstructionCounter) -> None:
    counted = counter.count(task("torch.mm(a, a)", "a = torch.ones(4, 4)", repeats=2), keep_text=True)
    first, second = counted.callgrind_stats()
    assert first.counts() == first.stats().sum()
    assert any("at::native" in function or "mm" in function for _, function in second.stats(inclusive=True))
    # What stands above the statement is the loop's, and is left out; the interpreter is on top.
    assert "_PyEval_EvalFrameDefault" in second.stats(inclusive=True)[0].function
    assert not any("gen_send" in function for _, function in second.stats(inclusive=True))
    assert first.stmt_callgrind_out is not None
    assert "events: Ir" in first.stmt_callgrind_out
    assert 0 < first.baseline_exclusive_stats.sum() < first.counts()
    assert counted.callgrind_stats(collect_baseline=False)[0].baseline_exclusive_stats.sum() == 0
    # Whatever ran, the two repeats differ in little.
    assert abs(first.delta(second).sum()) < 0.01 * first.counts()


def test_globals_are_copied(counter: InstructionCounter) -> None:
    marked = {"m": CopyIfCallgrind(torch.nn.Linear(4, 4)), "k": CopyIfCallgrind(3)}
    counted = counter.count(CountTask(TaskSpec("m(x * k)", TENSORS), copied_globals=copy_globals(marked)))
    assert counted.instruction_counts().stable.total > figures(counter, "x * 3").total


def test_an_exception_has_the_users_line(counter: InstructionCounter) -> None:
    with pytest.raises(SnippetError, match="no_such_name") as caught:
        counter.count(task("x + no_such_name"))
    assert "x + no_such_name" in str(caught.value)


def test_a_crash_is_told_with_its_output_and_the_server_goes_on(counter: InstructionCounter) -> None:
    before = figures(counter, "x + y")
    with pytest.raises(WorkerCrashed, match="SIGSEGV") as caught:
        counter.count(task("import os; os.write(2, b'last words'); os.kill(os.getpid(), 11)"))
    assert "last words" in str(caught.value)
    with pytest.raises(WorkerCrashed, match="SIGKILL"):
        counter.count(task("import os; os.kill(os.getpid(), 9)"))
    assert all(idle.alive for idle in idle_servers(counter))
    assert figures(counter, "x + y") == before


def test_a_hang_is_ended(counter: InstructionCounter) -> None:
    with pytest.raises(WorkerTimeout):
        counter.count(task("while True: pass", timeout_seconds=2.0))
    assert all(idle.alive for idle in idle_servers(counter))
    assert figures(counter, "x + y").total > 0


def test_memory_that_is_not_there_is_told(counter: InstructionCounter) -> None:
    with pytest.raises((SnippetError, WorkerCrashed)) as caught:
        counter.count(task("torch.empty(1 << 58)", "pass"))
    assert "memory" in str(caught.value)


@pytest.mark.skipif(not simd_variables(), reason="EVEX instructions are x86's")
def test_an_avx512_instruction_is_told_by_name(counter: InstructionCounter) -> None:
    with pytest.raises(WorkerCrashed, match="AVX-512") as caught:
        counter.count(task("function()", AVX512))
    assert "x86-64-v3" in str(caught.value)


def test_threads_are_told(counter: InstructionCounter) -> None:
    counted = counter.count(CountTask(TaskSpec("x * y", TENSORS, num_threads=2)))
    assert any("num_threads" in reason for reason in counted.instruction_counts().reasons)


def test_a_layout_that_is_not_frozen_is_told(counter: InstructionCounter, monkeypatch: pytest.MonkeyPatch) -> None:
    for idle in idle_servers(counter):
        monkeypatch.setattr(idle, "frozen", False)
        monkeypatch.setattr(idle, "not_frozen_because", "setarch -R is refused here")
    counts = counter.count(task("x * y")).instruction_counts()
    assert not counts.frozen_layout
    assert "not frozen: setarch -R is refused here" in str(counts)


def test_nothing_piles_up_in_the_servers_folder(counter: InstructionCounter) -> None:
    figures(counter, "x * y")
    for idle in idle_servers(counter):
        # The last child may still be writing its final file.
        assert len(list(idle.folder.iterdir())) <= 4


def test_cache_and_branch_simulation_and_nothing_left_behind() -> None:
    with Session() as session:
        # With the caches of test_simulated_caches.py, whose server this then is.
        counter = InstructionCounter(session, counting=SIMULATING)
        events = counter.count(task("x * y")).instruction_counts().events
        ((folder, pid),) = ((idle.folder, idle.pid) for idle in idle_servers(counter))
    assert {"Ir", "Dr", "D1mr", "Bc", "Bcm"} <= set(events)
    assert events["Bcm"] < events["Bc"]
    assert not folder.exists()
    # Its zygote takes note of its end in its own time.
    wait_until_gone([pid])
    assert os.getpid() != pid


@pytest.mark.compiler
@pytest.mark.usefixtures("compiled")
def test_python_and_cpp_with_one_server() -> None:
    native = Timer("auto z = x * y;", TWO_ONES, language="c++").collect_callgrind(repeats=2)
    stats = Timer("z = x * y", "x = torch.ones(4); y = torch.ones(4)").collect_callgrind()
    assert isinstance(stats, CallgrindStats)
    assert len(native) == 2
    # No interpreter in a compiled loop, and the same kernel in both.
    assert not any("PyEval" in function for _, function in native[0].stats())
    assert any("mul" in function for _, function in native[1].stats())
    assert native[1].counts() < stats.counts()
    assert native[0].figures is not None
    assert native[0].figures.allocator_calls % 100 == 0
    counting = [kind for kind in process_session()._idle if kind.counting is not None]
    assert len(counting) == 1


@pytest.mark.nightly
def test_the_server_ends_with_the_process_that_is_killed() -> None:
    program = (
        "from photometer import Timer; from photometer.session.shared import process_session\n"
        "Timer('pass').collect_callgrind()\n"
        "(server,) = [s for kind, idle in process_session()._idle.items() if kind.counting for s in idle]\n"
        "print(server.pid, server.folder, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    pid, folder = done.stdout.split()
    # It notices the closed line by itself; leaving takes Valgrind a moment.
    wait_until_gone([int(pid)])
    assert not os.path.exists(folder)  # noqa: PTH110
