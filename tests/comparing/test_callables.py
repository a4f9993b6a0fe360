"""Callables: in forks of this process, or in turn in it if they would not survive one; the result says which."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

import photometer
from photometer.comparing import callables
from photometer.comparing.callables import InTurn, open_source, why_not_forked
from photometer.comparing.contenders import Contender, gather_contenders
from photometer.errors import SnippetError

FORKED = "wall time, in forks of this process"
# Two thousand times the work: a ratio of more than 3 is seen whatever else runs.
LITTLE, MUCH = 10, 20_000


class Work:
    """Something with state and methods; `rounds` of a loop are its work."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.calls = 0

    def run(self, start: int = 0) -> int:
        self.calls += 1
        for i in range(self.rounds):
            start += i
        return start

    __call__ = run


def taken(contenders: tuple[Contender, ...]) -> tuple[str, float]:
    """How they are measured, and the ratio of one short replicate."""
    opened = open_source(contenders, num_threads=1, seconds=0.02, seed=1)
    first, second = opened.source.take(0, 0).seconds_per_run
    return opened.measured_by, min(second) / min(first)


def of_work(first: int, second: int) -> dict[str, tuple[Any, Any]]:
    a, b = Work(first), Work(second)
    return {
        "callable objects": (a, b),
        "bound methods": (a.run, b.run),
        "lambdas": (lambda: a.run(), lambda: b.run(1)),
        "text with globals": ("work_a.run()", "work_b.run()"),
    }


@pytest.mark.lengthy
@pytest.mark.parametrize("kind", of_work(1, 1))
def test_every_kind_of_callable_is_measured_in_forks(kind: str) -> None:
    pair = of_work(LITTLE, MUCH)[kind]
    names = {"work_a": Work(LITTLE), "work_b": Work(MUCH)} if kind == "text with globals" else None
    way, ratio = taken(gather_contenders(pair, globals=names))
    assert way == FORKED
    assert ratio > 3


def test_arguments_modules_and_closures() -> None:
    small, large = torch.nn.Linear(4, 4), torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(100)])
    with torch.no_grad():
        way, ratio = taken(gather_contenders([small, large], args=(torch.ones(4),)))
    assert way == FORKED
    assert ratio > 2


def test_the_calling_process_is_left_as_it_was() -> None:
    work, threads = Work(5), torch.get_num_threads()
    taken(gather_contenders([work.run, work.run]))
    assert work.calls == 0, "all runs were in forks"
    assert torch.get_num_threads() == threads


def test_what_a_callable_raises_is_told_with_its_name() -> None:
    def wrong() -> None:
        raise KeyError("gone")

    with pytest.raises(SnippetError, match=r"wrong.*KeyError.*gone"):
        open_source(gather_contenders([Work(1), wrong]), num_threads=1, seconds=0.02)


def test_without_forks_it_goes_in_turn_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callables, "accelerator_was_started", lambda: True)
    work, more = Work(LITTLE), Work(MUCH)
    way, ratio = taken(gather_contenders([work, more]))
    assert way.startswith("wall time, in turn in this one process: it has initialised an accelerator")
    assert ratio > 3
    assert work.calls > 0
    assert more.calls > 0


@pytest.mark.lengthy
def test_the_result_says_which_way_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callables, "accelerator_was_started", lambda: True)
    verdict = photometer.ab(Work(LITTLE), Work(MUCH), budget=60.0, seed=1)
    assert verdict.verdict == "slower"
    assert "in turn in this one process" in verdict.measured_by
    assert verdict.measured_by in str(verdict)


def test_a_fork_that_cannot_start_cuda_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def starts_cuda() -> None:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess.")

    def fails_only_in_a_fork(contender: Contender, num_threads: int) -> None:
        return None

    monkeypatch.setattr(callables, "run_here", fails_only_in_a_fork)
    opened = open_source(gather_contenders([starts_cuda, starts_cuda]), num_threads=1, seconds=0.02)
    assert isinstance(opened.source, InTurn)
    assert "queried an accelerator" in opened.measured_by


def test_what_compiles_at_its_first_run_does_so_once_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callables, "LAZY_SECONDS", 0.05)
    compiled: list[int] = []

    def lazy() -> None:
        import time

        if not compiled:
            time.sleep(0.3)
            compiled.append(1)

    open_source(gather_contenders([lazy, Work(1)]), num_threads=1, seconds=0.02)
    assert compiled, "this process has it now, and its forks inherit it"


POOL = """
import torch, photometer
from photometer.comparing.callables import why_not_forked
assert why_not_forked(2) is None, "only imported"
torch.set_num_threads(2)
torch.ones(1 << 20).add_(1).sum()
print(why_not_forked(1), "|", why_not_forked(2))
"""


@pytest.mark.slow
def test_several_threads_of_a_started_pool_are_not_forked() -> None:
    """The fact behind it: a fork of such a process hangs when it uses the pool."""
    done = subprocess.run([sys.executable, "-c", POOL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    one, several = done.stdout.strip().split(" | ")
    assert one == "None"
    assert "pool" in several


def test_in_turn_alternates_in_random_order_and_closes_its_loops() -> None:
    order: list[str] = []
    contenders = [Contender(name, f"note({name!r})", "pass", {"note": order.append}) for name in ("a", "b")]
    source = InTurn(contenders, num_threads=1, seconds=0.001, seed=3)
    replicate = source.take(0, 0)
    assert len(replicate.seconds_per_run) == 2
    assert len(replicate.seconds_per_run[0]) == len(replicate.seconds_per_run[1])
    assert {"a", "b"} == set(order)


def test_a_process_that_only_imported_torch_can_be_forked() -> None:
    assert why_not_forked(1) is None


@pytest.mark.nightly
def test_a_compiled_function_is_compiled_once_and_measured_in_forks() -> None:
    def eager(x: torch.Tensor) -> torch.Tensor:
        return (x * 2 + 1).relu()

    compiled = torch.compile(eager)
    with torch.no_grad():
        verdict = photometer.ab(eager, compiled, args=(torch.ones(64),), budget=2.0)
        again = photometer.ab(
            {"eager": eager, "in a lambda": lambda x: compiled(x)}, args=(torch.ones(64),), budget=2.0
        )
    assert verdict.measured_by == FORKED
    assert again.measured_by == FORKED
    assert verdict.replicates > 1, "no fork has compiled it anew"
