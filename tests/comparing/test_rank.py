"""Several statements to a ranking: groups, correction, the wall-clock limit. No clock is waited for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE, log_evidence_needed
from photometer.analysis.ranking import Ranking
from photometer.comparing.rank import Stopping, pairs_of, rank_side_by_side
from photometer.errors import DefinitionError, SnippetError
from photometer.instruments.replicate import Replicate

NAMES = ("a", "b", "c", "d")


class MadeUp:
    """Replicates of statements that take so long, with a little noise of the replicate and of the blocks."""

    def __init__(self, seconds: Sequence[float], *, noise: float = 1e-3, seed: int = 0) -> None:
        self._seconds = seconds
        self._noise = noise
        self._draw = random.Random(seed)
        self.taken = 0

    def take(self, benchmark: int, turn: int) -> Replicate:
        self.taken += 1
        sides = []
        for seconds in self._seconds:
            own = seconds * self._draw.lognormvariate(0.0, self._noise)
            sides.append(tuple(own * (1 + 1e-3 * self._draw.random()) for _ in range(30)))
        return Replicate(tuple(sides), (1,) * len(sides), 0.3, 0.4)


def ranked(*seconds: float, budget: float = 30.0, **options: float) -> Ranking:
    source = MadeUp(seconds, **options)  # type: ignore[arg-type]
    return rank_side_by_side(NAMES[: len(seconds)], source, Stopping(budget))


def test_ranks_and_groups() -> None:
    ranking = ranked(2e-6, 1e-6, 1e-6, 3e-6)
    assert [set(group) for group in ranking.groups] == [{"b", "c"}, {"a"}, {"d"}]
    assert [statement.rank for statement in ranking] == [1, 1, 3, 4]
    assert ranking.reference == "a"
    assert ranking["a"].verdict is None
    assert ranking["d"].verdict is not None
    assert ranking["d"].verdict.verdict == "slower"
    assert ranking.pair("c", "b").verdict.verdict == "same"
    assert ranking["b"].seconds == pytest.approx(1e-6, rel=0.02)
    assert ranking.decided


def test_two_statements_are_a_ranking_of_one_pair() -> None:
    ranking = ranked(1e-6, 1.1e-6)
    assert len(ranking.pairs) == 1
    assert ranking.pairs[0].verdict.ratio == pytest.approx(1.1, rel=0.01)


def test_what_is_not_shown_to_differ_shares_a_rank() -> None:
    ranking = ranked(1e-6, 1.002e-6, 1.001e-6, budget=1.5, noise=0.02)
    assert not any(pair.verdict.is_final for pair in ranking.pairs)
    assert len(ranking.groups) == 1
    assert "same within" in str(ranking)
    ranking = ranked(1e-6, 1.002e-6, 1.001e-6, budget=1.5, noise=0.3)
    assert not ranking.decided
    assert "Undecided" in str(ranking)


def test_a_part_of_the_pairs_needs_the_evidence_that_stands_among_all() -> None:
    rate = DEFAULT_FALSE_DISCOVERY_RATE
    some = log_evidence_needed([0.0] * 10, rate=rate * 10 / 190, alone=0.5)
    assert some == pytest.approx(log_evidence_needed([0.0] * 190, rate=rate, alone=0.5))


def test_neighbours_that_are_open_get_the_rest_of_the_budget() -> None:
    """Both are surely slower than the first at once; which of the two is slower takes longer."""
    source = MadeUp((1e-6, 2e-6, 2.02e-6), noise=0.004, seed=2)
    ranking = rank_side_by_side(NAMES[:3], source, Stopping(30.0))
    assert ranking.groups == (("a",), ("b",), ("c",))
    assert ranking.pair("b", "c").verdict.replicates == source.taken
    against_first = MadeUp((1e-6, 2e-6), noise=0.004, seed=2)
    rank_side_by_side(NAMES[:2], against_first, Stopping(30.0))
    assert against_first.taken < source.taken


def test_the_callback_sees_each_replicate_once() -> None:
    seen: list[tuple[Ranking, float]] = []
    source = MadeUp((1e-6, 2e-6, 3e-6))
    rank_side_by_side(NAMES[:3], source, Stopping(30.0), on_look=lambda *look: seen.append(look))
    assert len(seen) == source.taken
    assert seen[0][1] < seen[-1][1]


def test_an_error_is_raised() -> None:
    class Fails:
        def take(self, benchmark: int, turn: int) -> Replicate:
            raise SnippetError("NameError: x")

    with pytest.raises(SnippetError, match="NameError"):
        rank_side_by_side(NAMES[:2], Fails(), Stopping(1.0))


def test_the_limit_ends_a_comparison() -> None:
    source = MadeUp((1e-6, 1.0005e-6), noise=0.02)
    ranking = rank_side_by_side(NAMES[:2], source, Stopping(1e6, limit=1e-6))
    assert source.taken == 1, "one replicate is always taken"
    assert ranking.pairs[0].verdict.verdict == "undecided"


def test_the_limit_counts_from_the_beginning_by_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    source = MadeUp((1e-6, 1.0005e-6), noise=0.02)
    # Each replicate takes 0.3 s of the second that is left.
    wall = SimpleNamespace(monotonic=lambda: 9.0 + 0.3 * source.taken)
    monkeypatch.setattr("photometer.comparing.rank.time", wall)
    rank_side_by_side(NAMES[:2], source, Stopping(1e6, limit=10.0, began=0.0))
    assert source.taken == 3


@pytest.mark.parametrize("stopping", [{"budget": 0.0}, {"budget": 1.0, "limit": -1.0}, {"budget": float("nan")}])
def test_impossible_times_are_told(stopping: dict[str, float]) -> None:
    with pytest.raises(DefinitionError, match="positive"):
        Stopping(**stopping)  # type: ignore[arg-type]


def test_pairs() -> None:
    assert pairs_of(3) == ((0, 1), (0, 2), (1, 2))
