from __future__ import annotations

import os
from pathlib import Path

import pytest

from photometer.errors import DefinitionError
from photometer.session.cores import CorePool, neighbours, parse_cores, usable_cores


def test_neighbours_from_either_end() -> None:
    pool = CorePool(range(8))
    assert pool.take(2, from_top=True) == (6, 7)
    assert pool.take(1) == (0,)
    assert pool.take(3) == (1, 2, 3)
    assert pool.take(3) is None
    assert pool.take(2) == (4, 5)
    pool.give_back((1, 2, 3))
    assert pool.take(3, from_top=True) == (1, 2, 3)


def test_free_cores_that_are_no_neighbours_are_not_given_together() -> None:
    pool = CorePool(range(3))
    first, second, third = pool.take(1), pool.take(1), pool.take(1)
    assert (first, second, third) == ((0,), (1,), (2,))
    pool.give_back((0,))
    pool.give_back((2,))
    assert pool.take(2) is None


def test_of_two_hardware_threads_one_is_used(tmp_path: Path) -> None:
    processors = sorted(os.sched_getaffinity(0))
    for processor in processors:
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{processor // 2 * 2}-{processor // 2 * 2 + 1}\n")
    assert len(usable_cores((), tmp_path)) == len({processor // 2 for processor in processors})
    assert len(usable_cores((), tmp_path / "nothing")) == len(processors)


def test_cores_that_are_not_ours_are_refused() -> None:
    with pytest.raises(DefinitionError, match="may not run on processor 4095"):
        usable_cores((4095,))


@pytest.mark.parametrize(("text", "cores"), [("0", (0,)), ("0,2-4", (0, 2, 3, 4)), (" 3 , 1 ", (1, 3))])
def test_lists_of_cores(text: str, cores: tuple[int, ...]) -> None:
    assert parse_cores(text) == cores


@pytest.mark.parametrize("text", ["", "a", "3-1", "1,", "-2"])
def test_what_is_no_list_of_cores(text: str) -> None:
    with pytest.raises(DefinitionError, match="not a list of cores"):
        parse_cores(text)


def test_neighbours_begin_at_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert neighbours(2, 2) == (2, 3)
    assert neighbours(3, 2) == (0, 3)
    assert neighbours(None, 1) == (0,)
    assert neighbours(9, 8) == (0, 1, 2, 3)
