"""Torch where there is some, and a name that says what is missing where there is none."""

from __future__ import annotations

import sys

import pytest
import torch

from photometer.worker.cold_runs import TimeCold
from photometer.worker.figure_messages import CountWork
from photometer.worker.scatter import move_end, scatter_memory
from photometer.worker.seeds import seed_everything
from photometer.worker.threads import set_torch_threads
from photometer.worker.torch_here import MISSING, NoTorch, find_torch, needed_torch, torch_or_missing
from photometer.worker.work_counter import count_work


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


def test_torch_is_found_where_it_is() -> None:
    assert find_torch() is torch
    assert torch_or_missing() is torch
    assert needed_torch("this") is torch


@pytest.mark.usefixtures("without_torch")
def test_without_it_what_needs_it_says_so_in_one_line() -> None:
    assert find_torch() is None
    assert torch_or_missing() is MISSING
    with pytest.raises(NoTorch, match=r"^torch.ones needs torch, which \S+ does not have: pip install torch$"):
        MISSING.ones(3)
    with pytest.raises(NoTorch, match="measuring it needs torch"):
        needed_torch("measuring it")
    # Only generators of its own would be seeded, and it has none.
    MISSING.manual_seed(0)
    assert not hasattr(MISSING, "__torch_function__")


def test_a_torch_that_lacks_a_module_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "torch":
                raise ModuleNotFoundError("No module named 'libfoo'", name="libfoo")

    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="libfoo"):
        find_torch()


@pytest.mark.usefixtures("without_torch")
def test_what_surrounds_a_statement_needs_none() -> None:
    import random

    seed_everything(3, None)
    drawn = random.random()
    seed_everything(3, None)
    assert random.random() == drawn
    assert len(scatter_memory(7, None)) == len(scatter_memory(7, torch))
    assert [len(block) for block in move_end(7, None)] == [block.numel() for block in move_end(7, torch)]  # type: ignore
    with set_torch_threads(3):
        assert find_torch() is None


@pytest.mark.usefixtures("without_torch")
def test_instruments_that_use_it_say_so() -> None:
    with pytest.raises(NoTorch, match="timing with cold caches needs torch"):
        TimeCold(rounds=5, seconds=0.01).perform(lambda runs: 0.0)
    with pytest.raises(NoTorch, match="counting FLOPs and bytes needs torch"):
        count_work(lambda runs: 0.0, CountWork())
