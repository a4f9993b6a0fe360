"""Ranking: the result of a comparison of several statements: fastest first, in groups that are not shown to differ.

In: the verdict on every pair, corrected for their number. Out: a frozen record; report/ranking_text.py writes it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from photometer.analysis.verdict import CHANGED_WORDS, Verdict

if TYPE_CHECKING:
    import pandas

    from photometer.report.plots import Plot


@dataclass(frozen=True)
class PairVerdict:
    """Two of the statements: the second against the first."""

    first: str
    second: str
    verdict: Verdict

    @property
    def differ(self) -> bool:
        """Return whether the two are shown to differ."""
        return self.verdict.verdict in CHANGED_WORDS


@dataclass(frozen=True)
class RankedStatement:
    """Its rank, its time, and the verdict against the first statement.

    Rank 1 is the fastest; equal ranks are not shown to differ. The first statement itself has no verdict.
    """

    name: str
    rank: int
    seconds: float
    verdict: Verdict | None = None


@dataclass(frozen=True, repr=False)
class Ranking:
    """All statements, fastest first. `reference` is the one that was given first; `pairs` has every pair of them."""

    KIND: ClassVar[str] = "ranking"

    reference: str
    statements: tuple[RankedStatement, ...]
    pairs: tuple[PairVerdict, ...]

    def __iter__(self) -> Iterator[RankedStatement]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)

    def __getitem__(self, name: str) -> RankedStatement:
        for statement in self.statements:
            if statement.name == name:
                return statement
        raise KeyError(name)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names in groups that are not shown to differ from their fastest, the fastest group first."""
        ranks = dict.fromkeys(statement.rank for statement in self.statements)
        return tuple(tuple(each.name for each in self.statements if each.rank == rank) for rank in ranks)

    @property
    def fastest(self) -> tuple[str, ...]:
        """The fastest statement, and those that are not shown to differ from it."""
        return self.groups[0]

    @property
    def decided(self) -> bool:
        """Whether every pair has a verdict."""
        return all(pair.verdict.decided for pair in self.pairs)

    @property
    def measured_by(self) -> str:
        """Return how the statements were measured."""
        return self.pairs[0].verdict.measured_by

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes from the measurement, each with its pair."""
        if len(self.statements) == 2:
            return self.pairs[0].verdict.notes
        return tuple(
            f"{pair.second} against {pair.first}: {note}" for pair in self.pairs for note in pair.verdict.notes
        )

    def pair(self, one: str, other: str) -> PairVerdict:
        """Return the verdict on two of them, as it was measured: look which is its `first`."""
        for pair in self.pairs:
            if {pair.first, pair.second} == {one, other}:
                return pair
        raise KeyError((one, other))

    def __str__(self) -> str:
        from photometer.report.ranking_text import render_ranking

        return render_ranking(self).rstrip("\n")

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per statement, fastest first. Needs pandas."""
        from photometer.analysis.result_rows import rows_of
        from photometer.model.data_frame import data_frame

        return data_frame(rows_of(self))

    def plot(self) -> Plot:
        """Return a picture of the times, for a notebook or a file."""
        from photometer.report.plots import plot_ranking

        return plot_ranking(self)

    def _repr_html_(self) -> str:
        from photometer.report.notebook import ranking_html

        return ranking_html(self)

    def __repr__(self) -> str:
        return f"<photometer.Ranking of {len(self)}: {' < '.join(' ≈ '.join(group) for group in self.groups)}>"


def rank_statements(names: Sequence[str], pairs: Sequence[PairVerdict]) -> Ranking:
    """Rank by the estimated time. A new group begins with the first that is shown to differ from the group's fastest.

    The order is that of the ratios to the first statement, which were all measured side by side.
    """
    reference = names[0]
    against = {pair.second: pair.verdict for pair in pairs if pair.first == reference}
    seconds = {reference: _reference_seconds(list(against.values()))}
    seconds |= {name: seconds[reference] * against[name].ratio for name in names[1:]}
    found = {frozenset((pair.first, pair.second)): pair for pair in pairs}
    ranked: list[RankedStatement] = []
    leader, rank = "", 0
    for place, name in enumerate(sorted(names, key=seconds.__getitem__), start=1):
        pair = found.get(frozenset((leader, name)))
        if not leader or (pair is not None and pair.differ):
            leader, rank = name, place
        ranked.append(RankedStatement(name, rank, seconds[name], against.get(name)))
    return Ranking(reference, tuple(ranked), tuple(pairs))


def _reference_seconds(verdicts: Sequence[Verdict]) -> float:
    """Return the fastest of the reference's times: each pair that is measured apart has its own."""
    return min(verdict.base_seconds for verdict in verdicts)
