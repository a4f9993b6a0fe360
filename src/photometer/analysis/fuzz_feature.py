"""What can be said about fuzzed inputs: flags, numbers and choices, each with the words for it.

In come trials; out come features, one value a trial, in the order in which a tie between them is decided: contiguity
and size before what merely follows from them. What is the same for all trials explains nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from photometer.model.fuzz_trial import FuzzTrial, TensorFacts


@dataclass(frozen=True)
class Feature:
    """One value a trial, and the words for one side of a division and for the other. Numbers have a `subject`, too.

    The words of numbers and choices have a {} for the value; of a number, `is_so` says that it is reached.
    """

    values: tuple[Any, ...]
    is_so: str
    is_not: str
    subject: str = ""

    @property
    def is_number(self) -> bool:
        return bool(self.subject)

    @property
    def is_flag(self) -> bool:
        return all(isinstance(value, bool) for value in self.values)


def features_of(trials: Sequence[FuzzTrial], explaining: Collection[str] | None = None) -> list[Feature]:
    """The features that differ between trials. `explaining` are the parameters worth a look; None is all of them."""
    if not trials:
        return []
    found: list[Feature] = []
    names = [tensor.name for tensor in trials[0].tensors]
    for build in (_contiguous, _elements, _rank, _dtype):
        found += [build(name, [_tensor(trial, name) for trial in trials]) for name in names]
    found += _parameters(trials, explaining)
    found += _same_shape(trials, names)
    for name in names:
        tensors = [_tensor(trial, name) for trial in trials]
        found += _traits(name, tensors)
        found += _sides(name, tensors)
    return [feature for feature in found if len(set(feature.values)) > 1]


def _tensor(trial: FuzzTrial, name: str) -> TensorFacts:
    return next(tensor for tensor in trial.tensors if tensor.name == name)


def _contiguous(name: str, tensors: list[TensorFacts]) -> Feature:
    values = tuple(tensor.is_contiguous is not False for tensor in tensors)
    return Feature(values, f"{name} is contiguous", f"{name} is not contiguous")


def _elements(name: str, tensors: list[TensorFacts]) -> Feature:
    return _number(
        [tensor.numel for tensor in tensors],
        f"{name} has {{}} elements or more",
        f"{name} has fewer than {{}} elements",
        f"the number of elements of {name}",
    )


def _rank(name: str, tensors: list[TensorFacts]) -> Feature:
    return _number(
        [len(tensor.shape) for tensor in tensors],
        f"{name} has {{}} dimensions or more",
        f"{name} has fewer than {{}} dimensions",
        f"the number of dimensions of {name}",
    )


def _dtype(name: str, tensors: list[TensorFacts]) -> Feature:
    return Feature(tuple(each.dtype for each in tensors), f"{name} is of {{}}", f"{name} is not of {{}}")


def _sides(name: str, tensors: list[TensorFacts]) -> Iterator[Feature]:
    pick: dict[str, Callable[[tuple[int, ...]], int]] = {
        "last dimension": lambda shape: shape[-1],
        "first dimension": lambda shape: shape[0],
        "smallest dimension": min,
    }
    if any(not tensor.shape for tensor in tensors):
        return
    for words, choose in pick.items():
        yield _number(
            [choose(tensor.shape) for tensor in tensors],
            f"the {words} of {name} is {{}} or longer",
            f"the {words} of {name} is shorter than {{}}",
            f"the {words} of {name}",
        )


def _traits(name: str, tensors: list[TensorFacts]) -> Iterator[Feature]:
    for trait in dict.fromkeys(trait for tensor in tensors for trait in tensor.traits):
        if all(trait in tensor.traits for tensor in tensors):
            yield _plain([tensor.traits[trait] for tensor in tensors], f"{trait.replace('_', ' ')} of {name}")


def _parameters(trials: Sequence[FuzzTrial], explaining: Collection[str] | None) -> Iterator[Feature]:
    for name in trials[0].params:
        if (explaining is None or name in explaining) and all(name in trial.params for trial in trials):
            yield _plain([trial.params[name] for trial in trials], name)


def _same_shape(trials: Sequence[FuzzTrial], names: list[str]) -> Iterator[Feature]:
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            values = tuple(_tensor(trial, first).shape == _tensor(trial, second).shape for trial in trials)
            yield Feature(values, f"{first} and {second} have one shape", f"{first} and {second} differ in shape")


def _plain(values: list[Any], words: str) -> Feature:
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return _number(values, f"{words} is {{}} or more", f"{words} is less than {{}}", words)
    return Feature(tuple(values), f"{words} is {{}}", f"{words} is not {{}}")


def _number(values: Sequence[float], at_least: str, below: str, subject: str) -> Feature:
    return Feature(tuple(values), at_least, below, subject)
