"""One set of parameters on trial: the random numbers are taken at once, the values worked out when asked for.

Most candidates are refused after a look at two or three sizes, so a value nobody looks at is never computed. The random
stream is used exactly as if every parameter had been drawn in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.parameter_alias import ParameterAlias
from photometer.fuzzing.word_stream import WordStream


class Candidate(dict[str, Any]):
    """Parameter values by name, each worked out on its first look-up."""

    __slots__ = ("_parameters", "_taken")

    def __init__(self, parameters: dict[str, FuzzedParameter], taken: _Taken) -> None:
        super().__init__(taken.values)
        self._parameters = parameters
        self._taken = taken

    def __missing__(self, name: str) -> Any:
        target = self._taken.aliases.get(name)
        if target is None:
            value = self._parameters[name].value_at(self._taken.quantiles[name])
            if isinstance(value, ParameterAlias):
                value = self[value.alias_to]
        else:
            value = self[target]
        self[name] = value
        return value

    def in_order(self) -> dict[str, Any]:
        """Every value, as a plain dict in the order of the specification."""
        return {name: self[name] for name in self._parameters}


@dataclass(frozen=True)
class _Run:
    """Neighbouring parameters that take one double each, then perhaps one that takes a whole number."""

    doubles: tuple[str, ...]
    whole: FuzzedParameter | None


@dataclass
class _Taken:
    """What has been taken from the stream for the candidates of one input."""

    quantiles: dict[str, float] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def take(self, runs: Sequence[_Run], stream: WordStream) -> None:
        for run in runs:
            if run.doubles:
                self.quantiles.update(zip(run.doubles, stream.random_samples(len(run.doubles)), strict=True))
            if run.whole is not None:
                self.values[run.whole.name] = run.whole.sample(stream)

    def settle(self, parameter: FuzzedParameter) -> None:
        """Work a strict parameter's choice out once, for all candidates."""
        value = parameter.value_at(self.quantiles[parameter.name])
        if isinstance(value, ParameterAlias):
            self.aliases[parameter.name] = value.alias_to
        else:
            self.values[parameter.name] = value


class CandidateSource:
    """Candidates of one input, one after another: strict parameters keep what the first candidate took."""

    def __init__(self, parameters: Sequence[FuzzedParameter]) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._first = _runs(parameters)
        self._later = _runs([parameter for parameter in parameters if not parameter.strict])
        self._settled = [each for each in parameters if each.strict and not each.is_whole_number_range]

    def candidates(self, stream: WordStream, limit: int) -> Iterator[Candidate]:
        """At most `limit` candidates; each but the first draws anew what is not strict."""
        taken = _Taken()
        taken.take(self._first, stream)
        for parameter in self._settled:
            taken.settle(parameter)
        yield Candidate(self._parameters, taken)
        for _ in range(limit - 1):
            taken.take(self._later, stream)
            yield Candidate(self._parameters, taken)


def _runs(parameters: Sequence[FuzzedParameter]) -> tuple[_Run, ...]:
    runs: list[_Run] = []
    doubles: list[str] = []
    for parameter in parameters:
        if parameter.is_whole_number_range:
            runs.append(_Run(tuple(doubles), parameter))
            doubles = []
        else:
            doubles.append(parameter.name)
    if doubles:
        runs.append(_Run(tuple(doubles), None))
    return tuple(runs)
