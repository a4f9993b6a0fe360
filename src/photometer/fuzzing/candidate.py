"""Candidate: a set of parameters that may become an input. Its random numbers are taken at once, its values lazily.

Most candidates are rejected after two or three sizes have been read, so a value that is never read is never computed.
The random stream is used exactly as if every parameter had been drawn in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.word_stream import WordStream


@dataclass(frozen=True)
class _Position:
    """Where a parameter's word or double is: in which segment, after how many words, and how to convert it."""

    segment: int
    offset: int
    is_word: bool
    value_of: Callable[[Any], Any]


@dataclass(frozen=True)
class _Segment:
    """A number of words known beforehand, then perhaps a parameter that takes as many words as it needs."""

    words: int
    last: FuzzedParameter | None = None


@dataclass(frozen=True)
class _Layout:
    """Where the random numbers of each parameter are in the stream."""

    segments: tuple[_Segment, ...]
    positions: dict[str, _Position]

    @classmethod
    def of(cls, parameters: Sequence[FuzzedParameter]) -> _Layout:
        segments: list[_Segment] = []
        positions: dict[str, _Position] = {}
        words = 0
        for parameter in parameters:
            if parameter.takes_one_word:
                positions[parameter.name] = _Position(len(segments), words, True, parameter.value_at_word)
                words += 1
            elif parameter.is_whole_number_range:
                segments.append(_Segment(words, parameter))
                words = 0
            else:
                positions[parameter.name] = _Position(len(segments), words, False, parameter.value_at)
                words += 2
        return cls((*segments, _Segment(words)), positions)


@dataclass
class _Settled:
    """What all candidates of one input share: its strict parameters, as the first candidate drew them."""

    values: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


class Candidate(dict[str, Any]):
    """Parameter values by name, each computed on its first look-up."""

    __slots__ = ("_aliases", "_doubles", "_positions", "_starts", "_words")

    def __init__(self, layout: _Layout, settled: _Settled, stream: WordStream) -> None:
        super().__init__(settled.values)
        stream.begin()
        self._starts: list[int] = []
        for segment in layout.segments:
            self._starts.append(stream.take_words(segment.words))
            if segment.last is not None:
                self[segment.last.name] = segment.last.sample(stream)
        self._doubles = stream.doubles
        self._words = stream.words
        self._positions = layout.positions
        self._aliases = settled.aliases

    def raw(self, name: str) -> Any:
        """Return what was drawn for a parameter, which may be an alias."""
        position = self._positions[name]
        at = self._starts[position.segment] + position.offset
        return position.value_of(self._words[at] if position.is_word else self._doubles[at])

    def __missing__(self, name: str) -> Any:
        target = self._aliases.get(name)
        if target is not None:
            value = self[target]
        else:
            value = self.raw(name)
            if isinstance(value, ParameterAlias):
                value = self[value.alias_to]
        self[name] = value
        return value


class CandidateSource:
    """Candidates of one input, one after another: strict parameters keep what the first candidate drew."""

    def __init__(self, parameters: Sequence[FuzzedParameter]) -> None:
        self._names = [parameter.name for parameter in parameters]
        self._strict = [parameter for parameter in parameters if parameter.strict]
        self._first = _Layout.of(parameters)
        self._later = _Layout.of([parameter for parameter in parameters if not parameter.strict])

    def candidates(self, stream: WordStream, limit: int) -> Iterator[Candidate]:
        """Yield at most `limit` candidates; each but the first redraws what is not strict."""
        first = Candidate(self._first, _Settled(), stream)
        yield first
        settled = _Settled()
        for parameter in self._strict:
            value = first.raw(parameter.name) if parameter.name in self._first.positions else first[parameter.name]
            if isinstance(value, ParameterAlias):
                settled.aliases[parameter.name] = value.alias_to
            else:
                settled.values[parameter.name] = value
        for _ in range(limit - 1):
            yield Candidate(self._later, settled, stream)

    def in_order(self, candidate: Candidate) -> dict[str, Any]:
        """Return every value, as a plain dict in the order of the specification."""
        return {name: candidate[name] for name in self._names}
