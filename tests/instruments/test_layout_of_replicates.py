"""A planted effect of the memory layout: one that every replicate shares without scattering, and noise with it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from photometer.instruments.replicate import Side, take_replicate
from photometer.session.layout import freezing
from photometer.session.session import ServerKind, Session
from photometer.stats.replicate import estimate_replicate
from photometer.worker.messages import Prepare, Time

# How long the statement takes depends on nothing but where `x` lies: on the number of its cache line within a page.
SETUP = "x = torch.empty(16)\nline = (x.data_ptr() >> 6) & 63\nruns = range(2_000 + 200 * line)"
STMT = "for _ in runs: pass"
# Half a page before it, so that with everything else at its place the line is another: 32 further, or 32 back.
OTHER_SETUP = f"pad = torch.empty(2_048 - 64, dtype=torch.uint8)\n{SETUP}"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session() as session:
        yield session


def log_ratios(session: Session, *, scatter: bool, replicates: int) -> list[float]:
    order = random.Random(4)
    sides = [Side(session, Prepare(STMT, setup)) for setup in (SETUP, OTHER_SETUP)]
    taken = [
        take_replicate(sides, kind=ServerKind(), core=None, order=order, seconds=0.02, scatter=scatter)
        for _ in range(replicates)
    ]
    return [estimate_replicate(*each.seconds_per_run).log_ratio for each in taken]


@pytest.mark.skipif(freezing().refused_because is not None, reason="addresses are random here anyway")
def test_one_layout_for_all_replicates_is_a_bias(session: Session) -> None:
    found = log_ratios(session, scatter=False, replicates=3)
    assert abs(np.mean(found)) > 0.2
    assert np.std(found) < 0.1


def test_a_layout_for_each_replicate_is_noise(session: Session) -> None:
    found = log_ratios(session, scatter=True, replicates=12)
    assert np.std(found) > 0.1, "every replicate has the same layout"
    assert abs(np.mean(found)) < 3.5 * np.std(found, ddof=1) / np.sqrt(len(found))


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
