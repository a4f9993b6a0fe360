"""What a process has that its forks could not use: asked without starting anything."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest

from photometer.comparing.callables import NO_ACCELERATOR
from photometer.worker.accelerators import BACKENDS
from photometer.worker.fork_hazards import accelerator_was_started

THREADS = """
import threading
from photometer.worker.accelerators import BACKENDS
from photometer.worker.fork_hazards import has_native_threads
threading.Thread(target=threading.Event().wait, daemon=True).start()
before = has_native_threads()
import torch
torch.set_num_threads(2)
torch.ones(1 << 20).add_(1).sum()
print(before, has_native_threads())
"""


def give_torch(monkeypatch: pytest.MonkeyPatch, **started: bool) -> None:
    parts = {name: types.SimpleNamespace(is_initialized=lambda value=value: value) for name, value in started.items()}
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(**parts, mtia=object()))


@pytest.mark.parametrize("name", [each.kind for each in BACKENDS if each.kind != "mtia"])
def test_any_accelerator_that_is_initialised_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    give_torch(monkeypatch, **{name: False})
    assert not accelerator_was_started()
    exec(NO_ACCELERATOR, {})
    give_torch(monkeypatch, **{name: True})
    assert accelerator_was_started()
    # The same question as a statement, for a fork that has run a contender.
    with pytest.raises(AssertionError):
        exec(NO_ACCELERATOR, {})


def test_without_torch_nothing_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    assert not accelerator_was_started()


@pytest.mark.lengthy
@pytest.mark.skipif(sys.platform != "linux", reason="threads are listed in /proc")
def test_threads_of_a_pool_are_told_from_those_of_python() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr
