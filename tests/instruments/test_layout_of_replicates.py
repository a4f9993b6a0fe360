"""A planted effect of the memory layout: one that every replicate shares without scattering, and noise with it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from photometer.instruments.replicate import Replicate, Side, take_replicate
from photometer.session.layout import freezing
from photometer.session.session import ServerKind, Session
from photometer.stats.replicate import estimate_replicate
from photometer.worker.messages import Prepare, Time

# How long the statement takes depends on nothing but where `x` lies: on the number of its cache line within a page.
SETUP = "x = torch.empty(16)\nline = (x.data_ptr() >> 6) & 63\nruns = range(2_000 + 200 * line)"
STMT = "for _ in runs: pass"
# What is before it moves it; how far depends on what lies free at the start, so one that moves it far is looked for.
PADDED = [f"pad = [torch.empty(16) for _ in range({count})]\n{SETUP}" for count in range(4, 132, 4)]
FAR_LINES = 16


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session() as session:
        yield session


@pytest.fixture(scope="module")
def other_setup(session: Session, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a set-up that moves `x` far away from where it lies with `SETUP`, if everything else is at its place."""
    file = tmp_path_factory.mktemp("line") / "line"

    def line(setup: str) -> int:
        with session.child() as child:
            child.ask(Prepare(f"open({str(file)!r}, 'w').write(str(line))", setup))
            child.ask(Time(1))
        return int(file.read_text())

    here = line(SETUP)
    return next(setup for setup in PADDED if abs(line(setup) - here) >= FAR_LINES)


def replicates(session: Session, other_setup: str, *, scatter: bool, count: int) -> list[Replicate]:
    order = random.Random(4)
    sides = [Side(session, Prepare(STMT, setup)) for setup in (SETUP, other_setup)]
    return [
        take_replicate(sides, kind=ServerKind(), core=None, order=order, seconds=0.02, scatter=scatter)
        for _ in range(count)
    ]


def log_ratios(taken: list[Replicate]) -> list[float]:
    return [estimate_replicate(*each.seconds_per_run).log_ratio for each in taken]


@pytest.mark.skipif(freezing().refused_because is not None, reason="addresses are random here anyway")
def test_one_layout_for_all_replicates_is_a_bias(session: Session, other_setup: str) -> None:
    found = log_ratios(replicates(session, other_setup, scatter=False, count=3))
    assert min(found) > 0.1 or max(found) < -0.1


def test_a_layout_for_each_replicate_is_noise(session: Session, other_setup: str) -> None:
    taken = replicates(session, other_setup, scatter=True, count=24)
    levels = [np.log(min(each.seconds_per_run[0])) for each in taken]
    assert np.std(levels) > 0.3, "every replicate has the same layout"
    found = log_ratios(taken)
    assert abs(np.mean(found)) < 5 * np.std(found, ddof=1) / np.sqrt(len(found))


def test_heap_mappings_and_stack_move_with_the_seed(session: Session, tmp_path: Path) -> None:
    setup = "import sys\nsmall = torch.empty(16); large = torch.empty(1_000_000); held = [object()]"
    where = "(small.data_ptr() % 4096, large.data_ptr() % 2**20, id(held) % 4096, depth())"
    depth = (
        "def depth():\n    frame, n = sys._getframe(), 0\n    while frame: frame, n = frame.f_back, n + 1\n    return n"
    )
    found: dict[int, list[tuple[int, ...]]] = {}
    for seed in (0, *range(1, 13), *range(1, 13)):
        file = tmp_path / "where"
        stmt = f"open({str(file)!r}, 'w').write(repr({where}))"
        with session.child() as child:
            child.ask(Prepare(stmt, f"{setup}\n{depth}", layout_seed=seed))
            child.ask(Time(1))
        found.setdefault(seed, []).append(eval(file.read_text()))
    for place, fewest in enumerate((8, 6, 8, 6)):
        assert len({places[0][place] for seed, places in found.items() if seed}) >= fewest
    if freezing().refused_because is None:
        assert all(len(set(places)) == 1 for places in found.values()), "the same seed gives another layout"


def test_what_a_run_allocates_does_not_always_lie_at_one_distance_behind_the_set_up(
    session: Session, tmp_path: Path
) -> None:
    file = tmp_path / "distance"
    stmt = f"y = x.clone(); open({str(file)!r}, 'w').write(str((y.data_ptr() - x.data_ptr()) % 4096)); del y"
    distances = []
    for seed in range(1, 13):
        with session.child() as child:
            child.ask(Prepare(stmt, "x = torch.ones(200_000)", layout_seed=seed))
            child.ask(Time(20))
        distances.append(int(file.read_text()))
    assert len(set(distances)) >= 6, distances
