"""One set of parameters on trial: the random numbers are taken at once, the values worked out when asked for.

Most candidates are refused after a look at two or three sizes, so a value nobody looks at is never computed. The random
stream is used exactly as if every parameter had been drawn in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.parameter_alias import ParameterAlias
from photometer.fuzzing.word_stream import WordStream


@dataclass(frozen=True)
class _Place:
    """Where a parameter's word or double lies: in which run, after how many words, and what to make of it."""

    run: int
    offset: int
    is_word: bool
    value_of: Callable[[Any], Any]


@dataclass(frozen=True)
class _Layout:
    """Where the parameters' numbers lie: in runs of known length, ended by one that takes as many words as it needs.

    A run is the number of its words and the parameter that ends it, if one does.
    """

    runs: tuple[tuple[int, FuzzedParameter | None], ...]
    places: dict[str, _Place]

    @classmethod
    def of(cls, parameters: Sequence[FuzzedParameter]) -> _Layout:
        runs: list[tuple[int, FuzzedParameter | None]] = []
        places: dict[str, _Place] = {}
        words = 0
        for parameter in parameters:
            if parameter.takes_one_word:
                places[parameter.name] = _Place(len(runs), words, True, parameter.value_at_word)
                words += 1
            elif parameter.is_whole_number_range:
                runs.append((words, parameter))
                words = 0
            else:
                places[parameter.name] = _Place(len(runs), words, False, parameter.value_at)
                words += 2
        return cls((*runs, (words, None)), places)


@dataclass
class _Settled:
    """What the candidates of one input have in common: its strict parameters, as the first candidate drew them."""

    values: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


class Candidate(dict[str, Any]):
    """Parameter values by name, each worked out on its first look-up."""

    __slots__ = ("_aliases", "_doubles", "_places", "_starts", "_words")

    def __init__(self, layout: _Layout, settled: _Settled, stream: WordStream) -> None:
        super().__init__(settled.values)
        stream.begin()
        self._starts: list[int] = []
        for words, whole in layout.runs:
            self._starts.append(stream.take_words(words))
            if whole is not None:
                self[whole.name] = whole.sample(stream)
        self._doubles = stream.doubles
        self._words = stream.words
        self._places = layout.places
        self._aliases = settled.aliases

    def raw(self, name: str) -> Any:
        """What was drawn for a parameter, which may be an alias."""
        place = self._places[name]
        at = self._starts[place.run] + place.offset
        return place.value_of(self._words[at] if place.is_word else self._doubles[at])

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
        """At most `limit` candidates; each but the first draws anew what is not strict."""
        first = Candidate(self._first, _Settled(), stream)
        yield first
        settled = _Settled()
        for parameter in self._strict:
            value = first.raw(parameter.name) if parameter.name in self._first.places else first[parameter.name]
            if isinstance(value, ParameterAlias):
                settled.aliases[parameter.name] = value.alias_to
            else:
                settled.values[parameter.name] = value
        for _ in range(limit - 1):
            yield Candidate(self._later, settled, stream)

    def in_order(self, candidate: Candidate) -> dict[str, Any]:
        """Every value, as a plain dict in the order of the specification."""
        return {name: candidate[name] for name in self._names}
