"""Fuzzer: a specification of random inputs, and the inputs it stands for.

In come parameters, tensors, constraints and a seed; out come inputs, the same ones each time they are taken: in this
process or another, all in turn or one alone by its index. Parameters alone are drawn without torch. A fuzzer also knows
which of its parameters may explain that an input is slow.

Most candidates are rejected after two or three sizes have been read: a candidate takes its random numbers at once, its
values lazily. A PreparedInput has been drawn, and its tensors are made only on request, with torch's random stream kept
apart from the user's: so an input can be skipped without memory for its tensors, and one that fails changes none after
it.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from photometer.errors import DefinitionError, ImpossibleSpec
from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.spec_check import check_spec
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.fuzzing.word_stream import WordStream
from photometer.model.units import percent

FuzzedInput = tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, Any]]


class TorchStream:
    """The CPU random stream that follows `torch.manual_seed(seed)`, whatever else draws in between.

    A statement that draws random numbers between two inputs must not change the second one. So this stream is put in
    place only while a tensor is made, and the user's is put back afterwards.
    """

    def __init__(self, seed: int) -> None:
        import torch

        # Seeds the user's stream and the accelerators' too, as torch's fuzzer does: a statement's own draws repeat.
        torch.manual_seed(seed)
        self.state: Any = torch.get_rng_state()

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Make this stream torch's global CPU stream inside the `with` block."""
        import torch

        users_state = torch.get_rng_state()
        torch.set_rng_state(self.state)
        try:
            yield
        finally:
            self.state = torch.get_rng_state()
            torch.set_rng_state(users_state)


@dataclass(frozen=True)
class Draw:
    """The values of the parameter stream for one input: its parameters and each tensor's memory order."""

    params: dict[str, Any]
    orders: tuple[tuple[int, ...], ...]


class PreparedInput:
    """One input, drawn. `make` it at most once, before the next one is drawn."""

    def __init__(self, tensors: Sequence[FuzzedTensor], draw: Draw, values: TorchStream) -> None:
        self._tensors = tensors
        self._draw = draw
        self._values = values
        self._start = values.state
        self._is_made = False

    @property
    def params(self) -> dict[str, Any]:
        """Return the values of the parameters."""
        return self._draw.params

    def make(self) -> FuzzedInput:
        """Return tensors by name, their properties by name, and the parameters."""
        tensors: dict[str, Any] = {}
        properties: dict[str, dict[str, Any]] = {}
        for tensor, order in zip(self._tensors, self._draw.orders, strict=True):
            with self._values.in_place():
                tensors[tensor.name], properties[tensor.name] = tensor.make(self._draw.params, order)
        self._is_made = True
        return tensors, properties, self._draw.params

    def leave(self) -> None:
        """Move the stream to its place after this input, whether it was made or not."""
        if self._is_made:
            return
        self._values.state = self._start
        for tensor in self._tensors:
            before = self._values.state
            # A constructor that raises takes nothing from the stream. It raises again if this input is made.
            with contextlib.suppress(Exception):
                with self._values.in_place():
                    tensor.skip(self._draw.params)
                continue
            self._values.state = before


# torch's fuzzer gives up after 1,000, but small limits on three dimensions mostly need more. This many take about a
# second.
MAX_CANDIDATES = 100_000
# A parameter with more values than this is a seed for the statement, not something that explains its speed.
WIDEST_EXPLAINING_RANGE = 2**20

Constraint = Callable[[dict[str, Any]], Any]
_Spec = TypeVar("_Spec", FuzzedParameter, FuzzedTensor)


class Fuzzer:
    """Random inputs that can be made again.

    `parameters` and `tensors` may hold lists of them, which are unpacked. Each constraint is called with the dict of a
    candidate's parameters and rejects it by returning something false. If `seed` is None, one is chosen at random; the
    property `seed` has it.
    """

    # Parameters that nothing uses; they are drawn only to keep the random stream as it was.
    idle_parameters: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        parameters: Iterable[FuzzedParameter | Iterable[FuzzedParameter]],
        tensors: Iterable[FuzzedTensor | Iterable[FuzzedTensor]],
        constraints: Sequence[Constraint] | None = None,
        seed: int | None = None,
    ) -> None:
        self._parameters = _unpack(parameters, FuzzedParameter)
        self._tensors = _unpack(tensors, FuzzedTensor)
        self._constraints = tuple(constraints or ())
        self._seed = _checked_seed(seed)
        self._rejections = 0
        self._candidates = 0
        check_spec(self._parameters, self._tensors)
        self._source = CandidateSource(self._parameters)

    @property
    def seed(self) -> int:
        """Return the seed of all draws."""
        return self._seed

    @property
    def parameters(self) -> tuple[FuzzedParameter, ...]:
        """Return the parameters that are drawn."""
        return self._parameters

    @property
    def tensors(self) -> tuple[FuzzedTensor, ...]:
        """Return the tensors that are made."""
        return self._tensors

    @property
    def rejection_rate(self) -> float:
        """The share of all candidates so far that a constraint or a limit rejected."""
        return self._rejections / self._candidates if self._candidates else 0.0

    def with_seed(self, seed: int) -> Fuzzer:
        """Return the same specification with another seed."""
        other = copy.copy(self)
        other._seed = _checked_seed(seed)
        other._rejections = other._candidates = 0
        return other

    def take(self, n: int) -> Iterator[FuzzedInput]:
        """Yield the first `n` inputs: tensors by name, their properties by name, and the parameters."""
        for prepared in self.prepare(n):
            yield prepared.make()

    def prepare(self, n: int) -> Iterator[PreparedInput]:
        """Yield the first `n` inputs, drawn but not made: `make` the ones you want before taking the next.

        An input that is skipped or cannot be made does not change those after it: they are as in `take`.
        """
        state = np.random.RandomState(self._seed)
        values = TorchStream(_torch_seed(state))
        stream = WordStream(state)
        for _ in range(n):
            prepared = PreparedInput(self._tensors, self._draw(stream), values)
            yield prepared
            prepared.leave()

    def take_params(self, n: int) -> Iterator[dict[str, Any]]:
        """Yield the parameters of the first `n` inputs, without tensors and without torch."""
        state = np.random.RandomState(self._seed)
        _torch_seed(state)
        stream = WordStream(state)
        for _ in range(n):
            yield self._draw(stream).params

    def at(self, index: int) -> FuzzedInput:
        """Return the input that `take` yields at `index`, counted from 0, without making those before it."""
        if index < 0:
            raise DefinitionError(f"There is no input {index}.", remedy="Inputs count from 0.")
        return next(itertools.islice(self.prepare(index + 1), index, None)).make()

    def rebuild_line(self, index: int) -> str:
        """Return one line of Python that makes input `index` again, complete if every part has a printed form."""
        if self._constraints or any(tensor.tensor_constructor is not None for tensor in self._tensors):
            # The author's own functions have no printed form.
            return f"tensors, properties, params = fuzzer.with_seed({self._seed}).at({index})  # fuzzer: your own"
        made = f"{self!r}.at({index})"
        imports = "import torch; " if "torch." in made else ""
        return f"{imports}from photometer.fuzzing import *; tensors, properties, params = {made}"

    def _draw(self, stream: WordStream) -> Draw:
        params = self._accepted_params(stream)
        return Draw(params, tuple(tensor.draw_order(params, stream) for tensor in self._tensors))

    def _accepted_params(self, stream: WordStream) -> dict[str, Any]:
        refusals: Counter[tuple[str, str | int]] = Counter()
        for candidate in self._source.candidates(stream, MAX_CANDIDATES):
            self._candidates += 1
            refusal = self._refusal(candidate)
            if refusal is None:
                return self._source.in_order(candidate)
            self._rejections += 1
            refusals[refusal] += 1
        raise self._impossible(refusals)

    def _refusal(self, candidate: Candidate) -> tuple[str, str | int] | None:
        """Return what this candidate breaks: a limit and its tensor, or "constraint" and its index; None if nothing."""
        if self._constraints:
            params = self._source.in_order(candidate)
            for index, constraint in enumerate(self._constraints):
                if not constraint(params):
                    return "constraint", index
        for tensor in self._tensors:
            limit = tensor.broken_limit(candidate)
            if limit is not None:
                return limit, tensor.name
        return None

    def _impossible(self, refusals: Counter[tuple[str, str | int]]) -> ImpossibleSpec:
        blame = []
        for (what, whose), count in refusals.most_common():
            described = f"{what} of tensor {whose!r}"
            if isinstance(whose, int):
                described = f"constraint {whose} ({_described(self._constraints[whose])})"
            blame.append(f"{described} {count} times")
        return ImpossibleSpec(
            f"No set of parameters was accepted in {MAX_CANDIDATES} tries (rejection rate "
            f"{percent(self.rejection_rate)},"
            f" seed {self._seed}). Rejected by {', '.join(blame)}.",
            remedy="Loosen what rejects most, or narrow the parameters so that fewer draws break it.",
        )

    def __repr__(self) -> str:
        parts = [f"parameters={list(self._parameters)!r}", f"tensors={list(self._tensors)!r}"]
        if self._constraints:
            parts.append(f"constraints=[{', '.join(_described(each) for each in self._constraints)}]")
        return f"Fuzzer({', '.join(parts)}, seed={self._seed})"


def explaining_parameters(fuzzer: Fuzzer) -> frozenset[str]:
    """Return the parameters that may explain a difference: not those that only serve to draw others, nor seeds."""
    serving = set(fuzzer.idle_parameters)
    for parameter in fuzzer.parameters:
        serving |= {choice.alias_to for choice in parameter.possible_choices if isinstance(choice, ParameterAlias)}
    for tensor in fuzzer.tensors:
        serving |= {*tensor.step_names, *tensor.other_names}
        if tensor.dim_parameter is not None:  # a size that may be dropped says little; the shape itself shows it
            serving |= set(tensor.size_names)
    return frozenset(each.name for each in fuzzer.parameters if each.name not in serving and not _is_seed(each))


def shown_parameters(fuzzer: Fuzzer) -> tuple[str, ...]:
    """Return the explaining parameters that the tensors' shapes do not show, in the fuzzer's order."""
    sizes = {name for tensor in fuzzer.tensors for name in tensor.size_names}
    explaining = explaining_parameters(fuzzer) - sizes
    return tuple(parameter.name for parameter in fuzzer.parameters if parameter.name in explaining)


def _is_seed(parameter: FuzzedParameter) -> bool:
    low, high = parameter.minval, parameter.maxval
    if not parameter.is_whole_number_range or low is None or high is None:
        return False
    return high - low > WIDEST_EXPLAINING_RANGE


def _unpack(values: Iterable[_Spec | Iterable[_Spec]], kind: type[_Spec]) -> tuple[_Spec, ...]:
    flat: list[_Spec] = []
    for value in values:
        flat.extend([value] if isinstance(value, kind) else value)  # type: ignore[arg-type]
    wrong = [value for value in flat if not isinstance(value, kind)]
    if wrong:
        raise DefinitionError(f"{wrong[0]!r} is not a {kind.__name__}.", remedy=f"Give a list of {kind.__name__}s.")
    return tuple(flat)


def _checked_seed(seed: int | None) -> int:
    if seed is None:
        return int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64))
    if not 0 <= seed < 2**32:
        raise DefinitionError(f"Seed {seed} is out of range.", remedy="Give a whole number from 0 to 2**32 - 1.")
    return int(seed)


def _torch_seed(state: np.random.RandomState) -> int:
    """Return the first number of the stream, which seeds torch's."""
    return int(state.randint(low=0, high=2**63, dtype=np.int64))


def _described(function: Constraint) -> str:
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", repr(function))
    return (
        name if code is None or name != "<lambda>" else f"<lambda> in line {code.co_firstlineno} of {code.co_filename}"
    )


@dataclass(frozen=True)
class _Position:
    """The place of a parameter's word or double: its segment, the number of words before it, and its conversion."""

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
    """The values that all candidates of one input share: its strict parameters, as the first candidate drew them."""

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
        """Return the drawn value of a parameter, which may be an alias."""
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
