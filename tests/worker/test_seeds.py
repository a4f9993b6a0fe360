"""Random numbers of children: the same in every process, by the fixed seed or the user's. The caller's own stay."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import photometer
from photometer.session.forks_here import fork_here
from photometer.session.session import Session
from photometer.worker.messages import Prepare, Time
from photometer.worker.seeds import FIXED_SEED, SeedsNumpy, seed_everything

DRAWN = "import json, random, numpy\ndrawn = [torch.rand(1).item(), random.random(), float(numpy.random.rand())]"


def drawn_in(child: Any, file: Path, seed: int | None = None, setup: str = DRAWN) -> list[float]:
    """Return what the set-up draws in a child."""
    child.ask(Prepare(f"open({str(file)!r}, 'w').write(json.dumps(drawn))", setup, seed=seed))
    child.ask(Time(1))
    found: list[float] = json.loads(file.read_text())
    return found


@pytest.fixture
def own_state() -> Iterator[None]:
    """Hold that the generators of this process are as they were."""
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    yield
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()
    assert before[2] == np.random.get_state()[1].tolist()  # type: ignore[index]


@pytest.mark.lengthy
def test_two_sessions_draw_the_same(session: Session, tmp_path: Path, own_state: None) -> None:
    with session.child() as child:
        here = drawn_in(child, tmp_path / "drawn")
    with Session() as other, other.child() as child:
        assert drawn_in(child, tmp_path / "drawn") == here
    generator = torch.Generator().manual_seed(FIXED_SEED)
    expected = [
        torch.rand(1, generator=generator).item(),
        random.Random(FIXED_SEED).random(),
        float(np.random.RandomState(FIXED_SEED).rand()),
    ]
    assert here == expected


def test_a_seed_is_the_users(session: Session, tmp_path: Path) -> None:
    drawn = []
    for seed in (None, 7, 7, 2**32 - 1):
        with session.child() as child:
            drawn.append(drawn_in(child, tmp_path / "drawn", seed))
    assert drawn[1] == drawn[2]
    assert all(len({each[place] for each in drawn}) == 3 for place in range(3))


def test_a_child_that_prepares_again_starts_from_the_seed_again(session: Session, tmp_path: Path) -> None:
    with session.child() as child:
        first = drawn_in(child, tmp_path / "drawn")
        assert drawn_in(child, tmp_path / "drawn") == first
        assert drawn_in(child, tmp_path / "drawn", 7) != first


def test_a_seed_in_the_setup_wins(session: Session, tmp_path: Path) -> None:
    setup = f"torch.manual_seed(3)\n{DRAWN}"
    with session.child() as child:
        drawn = drawn_in(child, tmp_path / "drawn", 7, setup)
    assert drawn[0] == torch.rand(1, generator=torch.Generator().manual_seed(3)).item()


def test_numpy_is_not_imported_for_its_seed(session: Session) -> None:
    with session.child() as child:
        child.ask(Prepare("assert 'numpy.random' not in sys.modules", "import sys"))
        child.ask(Time(1))


def test_forks_of_this_process_are_seeded_and_this_process_is_not(tmp_path: Path, own_state: None) -> None:
    with fork_here({}) as child:
        first = drawn_in(child, tmp_path / "drawn")
    with fork_here({}) as child:
        assert drawn_in(child, tmp_path / "drawn") == first


def test_a_timer_leaves_the_callers_generators_alone(own_state: None) -> None:
    timer = photometer.Timer("x + x", "x = torch.ones(4)")
    timer.blocked_autorange(min_run_time=0.01)
    timer.measure_memory()


def test_ab_of_callables_leaves_the_callers_generators_alone(own_state: None) -> None:
    photometer.ab(lambda: torch.rand(8), lambda: torch.rand(9), budget=0.1, seed=3)


@pytest.mark.lengthy
def test_seeding_again_leaves_one_finder() -> None:
    code = (
        "import sys, torch\n"
        "from photometer.worker.seeds import SeedsNumpy, seed_everything\n"
        "for seed in (1, 2, 3):\n    seed_everything(seed, torch)\n"
        "assert sum(isinstance(finder, SeedsNumpy) for finder in sys.meta_path) == 1\n"
        "import numpy\ndrawn = numpy.random.rand()\n"
        "assert not any(isinstance(finder, SeedsNumpy) for finder in sys.meta_path)\n"
        "assert drawn == numpy.random.RandomState(3).rand()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Version:
    cuda = "13.0"


class FakeTorch:
    """A torch that was built for an accelerator."""

    version = Version()
    backends = None
    _C = None

    def __init__(self) -> None:
        self.seeds: list[tuple[str, int]] = []
        self.default_generator = self

    def manual_seed(self, seed: int) -> None:
        self.seeds.append(("seeded", seed))


class Generator:
    def __init__(self, seeds: list[tuple[str, int]]) -> None:
        self._seeds = seeds

    def manual_seed(self, seed: int) -> None:
        self._seeds.append(("host", seed))


@pytest.mark.lengthy
def test_devices_are_seeded_unless_instructions_are_counted(own_generators_restored: None) -> None:
    fake: Any = FakeTorch()
    fake.default_generator = Generator(fake.seeds)
    seed_everything(5, fake)
    seed_everything(5, fake, devices=False)
    assert fake.seeds == [("seeded", 5), ("host", 5)]


@pytest.fixture
def own_generators_restored() -> Iterator[None]:
    before, numpy_before = random.getstate(), np.random.get_state()
    yield
    random.setstate(before)
    np.random.set_state(numpy_before)
    assert not any(isinstance(finder, SeedsNumpy) for finder in sys.meta_path)


@pytest.mark.compiler
@pytest.mark.slow
def test_cpp_draws_what_python_draws(tmp_path: Path) -> None:
    file = tmp_path / "drawn"
    setup = f'std::ofstream("{file}") << std::setprecision(9) << torch::rand({{1}}).item<float>();'
    for seed in (None, 7):
        timer = photometer.Timer("", setup, "#include <fstream>\n#include <iomanip>", language="cpp", seed=seed)
        timer.timeit(1)
        expected = torch.rand(1, generator=torch.Generator().manual_seed(FIXED_SEED if seed is None else seed))
        assert torch.tensor([float(file.read_text())]).equal(expected)
