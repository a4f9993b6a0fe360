"""Where blocks lie, and from which run on they are used again, whatever a process has freed before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from photometer.instruments.settled_memory import MOST_RUNS, SETTLED_RUNS, is_new_memory, settle_memory
from photometer.model.machine import Environment
from photometer.session.session import ServerKind, Session
from photometer.worker.messages import Prepare, Time, Timed

pytestmark = [
    pytest.mark.lengthy,
    pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator, and /proc"),
]

# Says whether a result of 8 MiB lies in the heap, as a number that the statement can be asked for.
SETUP = """
import imported_by_the_side
import torch
x = torch.ones(1 << 21)
def in_heap(tensor):
    with open("/proc/self/maps") as maps:
        parts = [line.split()[0].split("-") for line in maps if line.rstrip().endswith("[heap]")]
    return any(int(start, 16) <= tensor.data_ptr() < int(end, 16) for start, end in parts)
"""
WRITE = "\nwith open({file!r}, 'a') as file: file.write(f'{{in_heap(x)}} {{in_heap(x + 1)}} ')"
# It has freed a mapped block of 16 MiB, so that glibc takes such blocks from the heap from then on.
FREES = "block = bytearray(16 << 20)\ndel block\n"


@pytest.mark.parametrize("code", ["", FREES], ids=["imports little", "frees a large block"])
def test_blocks_lie_in_the_heap_whatever_was_imported(code: str, tmp_path: Path) -> None:
    (tmp_path / "imported_by_the_side.py").write_text(code)
    file = tmp_path / "where"
    prepare = Prepare("pass", SETUP + WRITE.format(file=str(file)))
    with Session(Environment(sys.executable, path=(str(tmp_path),))) as session:
        kind = ServerKind().importing(prepare)
        for layout in (0, 1, 2):
            with session.child(kind) as child:
                child.ask(Prepare(prepare.stmt, prepare.setup, layout_seed=layout))
    assert file.read_text().split() == ["True"] * 6


def pages_of_runs(session: Session, stmt: str, setup: str, *, settles: bool, runs: int = 6) -> list[Timed]:
    with session.child() as child:
        child.ask(Prepare(stmt, setup, warmup_runs=1))
        if settles:
            settle_memory([child], 60)
        return [child.ask(Time(1, watches_pages=True)) for _ in range(runs)]


def test_timing_begins_after_the_runs_that_take_new_memory(session: Session) -> None:
    """Four runs keep what they make, 1 MiB each, as if something lay behind it: the next one needs other pages.

    Later, now and then a small object comes to lie in a hole, and a single run needs other pages.
    """
    setup, stmt = "kept = []", "x = torch.ones(1 << 18)\nif len(kept) < 4: kept.append(x)"
    assert sum(is_new_memory(run) for run in pages_of_runs(session, stmt, setup, settles=False)) >= 4
    assert sum(is_new_memory(run) for run in pages_of_runs(session, stmt, setup, settles=True)) <= 1


def test_what_is_mapped_for_each_run_counts_as_settled(session: Session) -> None:
    runs = pages_of_runs(session, "torch.ones(10 << 20)", "pass", settles=True, runs=2)
    assert all(run.touched_pages > 10_000 for run in runs)
    assert not any(is_new_memory(run) for run in runs)


class Watched:
    """A child whose first runs take new memory."""

    def __init__(self, new: int, seconds: float = 0.0) -> None:
        self.runs = 0
        self._new, self._seconds = new, seconds

    def ask(self, request: Time, timeout_seconds: float) -> Timed:
        assert request == Time(1, watches_pages=True)
        self.runs += 1
        return Timed(self._seconds, touched_pages=256, kept_pages=256 if self.runs <= self._new else 0)


@pytest.mark.parametrize(
    ("new", "runs"), [(0, SETTLED_RUNS), (3, 3 + SETTLED_RUNS), (100, MOST_RUNS)], ids=["none", "some", "all"]
)
def test_all_sides_run_equally_often(new: int, runs: int) -> None:
    """Otherwise random numbers that the statement draws would differ."""
    children = [Watched(0), Watched(new)]
    settle_memory(children, 1.0)  # type: ignore[arg-type]
    assert [child.runs for child in children] == [runs, runs]


def test_a_slow_statement_runs_once() -> None:
    child = Watched(100, seconds=1.0)
    settle_memory([child], 1.0)  # type: ignore[list-item]
    assert child.runs == 1
