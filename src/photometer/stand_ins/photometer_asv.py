"""Benchmarks of an asv suite: which a module has, with which parameters, and one of them made ready to run.

In: a module, as asv imports it. Out: `Found` benchmarks for a loader; for a set-up, the function and its arguments,
after `setup_cache` and all `setup`s have run. Standard library only: neither asv nor photometer need be there.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import itertools
import re
import unittest
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

# The first that matches says what a function is: `timeraw_` before `time_`.
_KINDS = {
    kind: re.compile(f"{kind.capitalize()}[A-Z_].+|{kind}_.+")
    for kind in ("timeraw", "time", "track", "mem", "peakmem")
}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")


@dataclasses.dataclass(frozen=True)
class Written:
    """A parameter that cannot be written as code: it is found among the benchmark's own by how it is printed."""

    text: str


@dataclasses.dataclass(frozen=True)
class Point:
    """One combination of parameters, and how each of them is printed."""

    texts: tuple[str, ...]
    values: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Found:
    """A function or method that asv would run. `sources` are where its attributes are looked up, nearest first."""

    name: str
    kind: str
    function: Callable[..., Any]
    sources: tuple[object, ...]

    def attribute(self, name: str, otherwise: Any = None) -> Any:
        """Return the nearest attribute of that name."""
        found = (getattr(source, name, None) for source in self.sources)
        return next((value for value in found if value is not None), otherwise)

    @property
    def setups(self) -> list[Callable[..., Any]]:
        """All functions called `setup`, in whatever case: the module's first, the function's own last."""
        found = []
        for source in reversed(self.sources):
            names = [name for name in dir(source) if name.lower() == "setup"]
            found += [getattr(source, name) for name in names[:1]]
        return found

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters; those without one are numbered."""
        given = [str(name) for name in self.attribute("param_names", ())]
        count = len(self.axes())
        return tuple((given + [f"param{number + 1}" for number in range(len(given), count)])[:count])

    def points(self) -> Iterator[Point]:
        """Yield every combination of parameters that is not to be skipped; one without any if there are none."""
        axes = self.axes()
        skipped = [tuple(each) for each in self.attribute("skip_params", ())]
        printed = [_distinct([_text(value) for value in axis]) for axis in axes]
        for places in itertools.product(*(range(len(axis)) for axis in axes)):
            values = tuple(axis[place] for axis, place in zip(axes, places, strict=True))
            if not any(_same(values, each) for each in skipped):
                yield Point(tuple(texts[place] for texts, place in zip(printed, places, strict=True)), values)

    def axes(self) -> list[list[Any]]:
        """Return the values of each parameter."""
        params = list(self.attribute("params", ()))
        if params and not isinstance(params[0], (tuple, list)):
            return [params]
        return [list(axis) for axis in params]

    def value(self, place: int, given: Any) -> Any:
        """Return a parameter's value: the one that is given, or the one that is printed so."""
        if not isinstance(given, Written):
            return given
        axis = self.axes()[place]
        for text, value in zip(_distinct([_text(each) for each in axis]), axis, strict=True):
            if text == given.text:
                return value
        raise LookupError(f"{self.name} has no parameter {given.text}")


def benchmarks_of(module: ModuleType) -> Iterator[Found]:
    """Yield the benchmarks of a module: its functions, and the methods of its classes."""
    for name, value in list(vars(module).items()):
        if name.startswith("_"):
            continue
        if inspect.isclass(value) and not inspect.isabstract(value):
            yield from _methods_of(module, value)
        elif inspect.isfunction(value) and _is_wanted(name, value):
            yield Found(name, _kind(name), value, (value, module))


def _methods_of(module: ModuleType, owner: type) -> Iterator[Found]:
    for name, value in inspect.getmembers(owner, callable):
        if (inspect.isfunction(value) or inspect.ismethod(value)) and _is_wanted(name, value):
            # One instance each, as asv makes them.
            instance = owner()
            function = getattr(instance, name)
            yield Found(f"{owner.__name__}.{name}", _kind(name), function, (function, instance, module))


def prepared(module: str, name: str, *parameters: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function and its arguments, set up for these parameters."""
    for found in benchmarks_of(importlib.import_module(module)):
        if found.name == name:
            return _set_up(found, tuple(found.value(place, given) for place, given in enumerate(parameters)))
    raise LookupError(f"{module} has no benchmark {name}")


def _set_up(found: Found, values: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    make_cache = found.attribute("setup_cache")
    cache = None if make_cache is None else make_cache()
    arguments = values if cache is None else (cache, *values)
    try:
        for setup in found.setups:
            setup(*arguments)
    except NotImplementedError as error:
        # asv's way to say that the benchmark does not apply to these parameters; unittest's is the one for all suites.
        raise unittest.SkipTest(str(error) or "setup raised NotImplementedError") from error
    return found.function, arguments


def _is_wanted(name: str, function: object) -> bool:
    return bool(_kind(name)) and not getattr(function, "skip_benchmark", False)


def _kind(name: str) -> str:
    return next((kind for kind, pattern in _KINDS.items() if pattern.fullmatch(name)), "")


def _text(value: object) -> str:
    """Return how a parameter is printed; where an object lies in memory is left out."""
    return _ADDRESS.sub("", repr(value))


def _distinct(texts: list[str]) -> list[str]:
    """Return the texts, with a number behind those that are there more than once."""
    return [
        text if texts.count(text) == 1 else f"{text} ({texts[:place].count(text)})" for place, text in enumerate(texts)
    ]


def _same(values: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    # An array among them has no single truth.
    return len(values) == len(other) and all(_text(a) == _text(b) for a, b in zip(values, other, strict=True))
