"""A planted effect of the memory layout: one that every replicate shares without scattering, and noise with it.

The effect is the place itself, not the time that it costs: where a tensor lies can be read on a busy machine, too.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from photometer.instruments.replicate import Side, take_replicate
from photometer.session.layout import freezing
from photometer.session.session import ServerKind, Session
from photometer.worker.messages import Prepare, Time

pytestmark = pytest.mark.lengthy

# Writes down on which cache line of its page `x` lies.
SETUP = "x = torch.empty(16)\nwith open({file!r}, 'a') as file: file.write(f'{{(x.data_ptr() >> 6) & 63}} ')"
# What is before it moves it; how far depends on what lies free at the start, so one that moves it far is looked for.
PADDED = [f"pad = [torch.empty(16) for _ in range({count})]\n{SETUP}" for count in range(4, 132, 4)]
FAR_LINES = 16


@pytest.fixture(scope="module")
def other_setup(session: Session, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a set-up that moves `x` far away from where it lies with `SETUP`, if everything else is at its place."""
    file = tmp_path_factory.mktemp("line") / "line"

    def line(setup: str) -> int:
        file.unlink(missing_ok=True)
        with session.child() as child:
            child.ask(Prepare("pass", setup.format(file=str(file))))
        return int(file.read_text().split()[0])

    here = line(SETUP)
    return next(setup for setup in PADDED if abs(line(setup) - here) >= FAR_LINES)


def lines_of_replicates(
    session: Session, other_setup: str, folder: Path, *, scatter: bool, count: int
) -> tuple[list[int], list[int]]:
    """Return where `x` lies on both sides of each replicate."""
    order = random.Random(4)
    files = [folder / "one", folder / "other"]
    sides = [
        Side(session, Prepare("pass", setup.format(file=str(file))))
        for setup, file in zip((SETUP, other_setup), files, strict=True)
    ]
    for _ in range(count):
        take_replicate(sides, kind=ServerKind(), core=None, order=order, seconds=1e-4, scatter=scatter)
    one, other = ([int(line) for line in file.read_text().split()] for file in files)
    assert len(one) == len(other) == count
    return one, other


@pytest.mark.skipif(freezing().refused_because is not None, reason="addresses are random here anyway")
def test_one_layout_for_all_replicates_is_a_bias(session: Session, other_setup: str, tmp_path: Path) -> None:
    one, other = lines_of_replicates(session, other_setup, tmp_path, scatter=False, count=3)
    assert len(set(one)) == len(set(other)) == 1
    # What the set-up writes to has another name now, which moves it by a line or two.
    assert one[0] != other[0]


def test_a_layout_for_each_replicate_is_noise(session: Session, other_setup: str, tmp_path: Path) -> None:
    one, other = lines_of_replicates(session, other_setup, tmp_path, scatter=True, count=24)
    assert len(set(one)) > 12, "replicates have the same layout"
    differences = np.subtract(other, one)
    assert differences.min() < 0 < differences.max()
    assert abs(differences.mean()) < 5 * differences.std(ddof=1) / np.sqrt(len(differences))


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
