"""Random data of replicates and visits: the same on all sides, other data each time, or always those of the user."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import photometer
from photometer.execution.rounds import VisitBook, data_seed, visit_in_rounds
from photometer.instruments.replicate import Side, take_replicate
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrders
from photometer.session.session import ServerKind, Session
from photometer.worker.messages import Prepare

pytestmark = pytest.mark.lengthy

REPLICATES = 3


def noting(file: Path) -> str:
    """Return a set-up that appends what it draws to a file."""
    return (
        "import json, random, numpy\n"
        "drawn = [torch.rand(1).item(), random.random(), float(numpy.random.rand())]\n"
        f"with open({str(file)!r}, 'a') as file:\n    print(json.dumps(drawn), file=file)\n"
    )


def noted(file: Path) -> list[list[float]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def data_of(session: Session, folder: Path, seed: int | None = None) -> list[list[list[float]]]:
    """Return what two sides with other set-ups, the second in another session, have drawn in some replicates."""
    files = [folder / "first", folder / "second"]
    with Session() as other:
        sides = [
            Side(session, Prepare("pass", noting(files[0]), seed=seed)),
            Side(other, Prepare("pass", f"y = torch.ones(3)\n{noting(files[1])}", seed=seed)),
        ]
        order = random.Random(4)
        for _ in range(REPLICATES):
            take_replicate(sides, kind=ServerKind(), core=None, order=order, seconds=0.001)
    return [noted(file) for file in files]


def test_sides_of_a_replicate_have_the_same_data_and_replicates_others(session: Session, tmp_path: Path) -> None:
    first, second = data_of(session, tmp_path)
    assert len(first) == REPLICATES
    assert first == second
    assert all(len({drawn[place] for drawn in first}) == REPLICATES for place in range(3))


def test_the_users_seed_is_that_of_all_replicates(session: Session, tmp_path: Path) -> None:
    first, second = data_of(session, tmp_path, seed=7)
    assert first == second == [first[0]] * REPLICATES
    assert first[0][1] == random.Random(7).random()


def test_ab_with_a_seed_has_the_same_data_in_all_replicates(tmp_path: Path) -> None:
    files = [tmp_path / "first", tmp_path / "second"]
    photometer.ab("pass", "pass", setup=noting(files[0]), setup_b=noting(files[1]), budget=0.3, seed=7)
    drawn = noted(files[0]) + noted(files[1])
    assert drawn == [drawn[0]] * len(drawn)
    assert drawn[0][1] == random.Random(7).random()


def test_callables_with_a_seed_have_the_same_data_in_all_replicates(tmp_path: Path) -> None:
    file = tmp_path / "drawn"
    photometer.ab("x", "x + 0", setup=noting(file), globals={"x": 1}, budget=0.3, seed=7)
    drawn = noted(file)
    assert len(drawn) > 2, "each was tried once before"
    assert drawn == [drawn[0]] * len(drawn)
    assert drawn[0][1] == random.Random(7).random()


def test_a_wrong_seed_is_refused() -> None:
    for wrong in (-1, 2**32):
        with pytest.raises(photometer.errors.DefinitionError, match="out of range"):
            photometer.ab("1", "2", seed=wrong)
    with pytest.raises(photometer.errors.DefinitionError, match="whole number"):
        photometer.Timer("1", seed="7")  # type: ignore[arg-type]


def plan_of(*files: Path) -> WorkOrders:
    benchmarks = {file.name: photometer.TimerArgs("pass", noting(file)) for file in files}
    return materialize(photometer.suites.Suite.from_benchmarks(benchmarks, name="noting"))


def test_visits_have_other_data_each_and_all_orders_the_same(session: Session, tmp_path: Path) -> None:
    from photometer.instruments.ready_order import ReadyOrder

    files = [tmp_path / "first", tmp_path / "second"]
    plan = plan_of(*files)
    _, failures = visit_in_rounds(session, [ReadyOrder(order) for order in plan], 0.01)
    assert not failures
    first, second = (noted(file) for file in files)
    assert len({drawn[0] for drawn in first}) == len(first) > 1
    # One whose visits disagree gets more of them.
    both = min(len(first), len(second))
    assert first[:both] == second[:both]
    assert first[0][1] == random.Random(data_seed(0)).random()


def test_visits_with_the_users_seed_have_the_same_data(session: Session, tmp_path: Path) -> None:
    from photometer.instruments.ready_order import ReadyOrder

    file = tmp_path / "drawn"
    plan = plan_of(file).seeded(7)
    visit_in_rounds(session, [ReadyOrder(order) for order in plan], 0.01)
    drawn = noted(file)
    assert drawn == [drawn[0]] * len(drawn)
    assert drawn[0][1] == random.Random(7).random()


def test_a_seed_does_not_change_what_an_order_is(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "drawn")
    assert [order.id for order in plan.seeded(7)] == [order.id for order in plan]
    assert VisitBook(1.0).next_visit("a").seed == VisitBook(1.0).next_visit("b").seed
