"""The axes of a sweep as an author or a command line writes them: powers, steps, a filter, `-L n=16..4096*2`.

    sizes=sweep(n=powers(2, 4, 12), m=(1, 8), where="n * m <= 4096")

`sweep` returns the points that `sizes=` takes. `with_axes` replaces the sizes of a suite's benchmarks by those of a
command line.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import re
from collections.abc import Callable, Sequence

from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.place import definition_error
from photometer.definition.size_expression import SizeExpression
from photometer.definition.suite import Suite, SuiteEntry
from photometer.definition.sweep import SizePoint, SizeValue, size_points
from photometer.errors import DefinitionError
from photometer.model.order_name import label_text

_AXIS_FORM = "Write -L n=1,2,4 or -L n=16..4096*2 (times 2 at each step) or -L n=100..500+100 (plus 100 at each step)."
# More points are measured for hours.
MOST_POINTS = 10_000
_RANGE = re.compile(r"(?P<first>[^.]+(?:\.\d+)?)\.\.(?P<last>[^*+]+)(?P<by>[*+])(?P<step>.+)")

Where = str | Callable[..., bool]


@dataclasses.dataclass(frozen=True)
class SweepAxis:
    """A name and its values, in order."""

    name: str
    values: tuple[SizeValue, ...]


def powers(base: int, first: int, last: int) -> tuple[int, ...]:
    """Return base**first to base**last, both included."""
    if base < 2 or not 0 <= first <= last <= 63:
        raise definition_error(
            f"powers({base}, {first}, {last})", remedy="Give a base from 2 up and exponents from 0 to 63, rising."
        )
    return tuple(base**exponent for exponent in range(first, last + 1))


def sweep(*, where: Where | None = None, **axes: Sequence[SizeValue]) -> list[dict[str, SizeValue]]:
    """Return every combination of the axes for which `where` (an expression, or a function of the sizes) is true."""
    points = kept_points(size_points(axes), where)
    return [dict(point) for point in points]


def kept_points(points: Sequence[SizePoint], where: Where | None) -> tuple[SizePoint, ...]:
    """Return the points for which a filter is true."""
    if where is None:
        return tuple(points)
    keeps: Callable[..., object]
    if callable(where):
        keeps = where
    else:
        expression = SizeExpression(where, "where")

        def keeps(**sizes: SizeValue) -> object:
            return expression.at(sizes)

    kept = tuple(point for point in points if keeps(**dict(point)))
    if not kept:
        raise definition_error(
            "the filter leaves no point of the sweep", remedy="Loosen it, or give the axes other values."
        )
    return kept


def parse_axis(text: str) -> SweepAxis:
    """Return the axis of a `-L` option."""
    name, equals, values = text.partition("=")
    name = name.strip()
    if not equals or not values.strip():
        raise _axis_error(text, "there are no values")
    found = [value for part in values.split(",") for value in _part(part.strip(), text)]
    try:
        # Checks the name and the values, too.
        points = size_points({name: found})
    except DefinitionError as error:
        raise _axis_error(text, error.message.partition(": ")[2]) from None
    return SweepAxis(name, tuple(point[0][1] for point in points))


def parse_axes(texts: Sequence[str]) -> tuple[SweepAxis, ...]:
    axes = tuple(parse_axis(text) for text in texts)
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"-L names {name} twice", remedy=f"Give all its values at once: -L {name}=1,2,4.")
    return axes


def points_of(axes: Sequence[SweepAxis], where: Where | None = None) -> tuple[SizePoint, ...]:
    """Return every combination of the axes; one empty point if there are none."""
    if not axes:
        return ((),)
    return kept_points(size_points({axis.name: axis.values for axis in axes}), where)


def with_axes(suite: Suite, axes: Sequence[SweepAxis], where: Where | None = None) -> Suite:
    """Return the suite with these values in place of its own; benchmarks without such a size stay as they are."""
    if not axes and where is None:
        return suite
    known = dict.fromkeys(name for entry in suite.entries for name in _axis_names(entry))
    for axis in axes:
        if axis.name not in known:
            raise definition_error(
                f"no benchmark of {suite.name} has a size called {axis.name}",
                remedy=f"Its sizes are: {', '.join(known)}." if known else "It has no sizes=.",
                place=suite.source or suite.name,
            )
    read = SizeExpression(where, "where").names if isinstance(where, str) else frozenset()
    if read and not any(read <= set(_axis_names(entry)) for entry in suite.entries):
        raise definition_error(
            f"no benchmark of {suite.name} has the sizes that --where reads: {', '.join(sorted(read))}",
            remedy=f"Its sizes are: {', '.join(known)}." if known else "It has no sizes=.",
            place=suite.source or suite.name,
        )
    return dataclasses.replace(suite, entries=tuple(_swept(entry, axes, where) for entry in suite.entries))


def _axis_names(entry: SuiteEntry) -> tuple[str, ...]:
    benchmark = entry.benchmark
    return tuple(name for name, _ in benchmark.sizes[0]) if isinstance(benchmark, GroupedBenchmark) else ()


def _swept(entry: SuiteEntry, axes: Sequence[SweepAxis], where: Where | None) -> SuiteEntry:
    benchmark = entry.benchmark
    names = _axis_names(entry)
    if not isinstance(benchmark, GroupedBenchmark) or not names:
        return entry
    chosen = {axis.name: axis.values for axis in axes if axis.name in names}
    points = benchmark.sizes
    if chosen:
        rest = dict.fromkeys(tuple(each for each in point if each[0] not in chosen) for point in points)
        given = [dict(zip(chosen, values, strict=True)) for values in itertools.product(*chosen.values())]
        merged = [{**dict(others), **new} for others in rest for new in given]
        points = tuple(tuple((name, point[name]) for name in names) for point in merged)
    reads = SizeExpression(where, "where").names if isinstance(where, str) else frozenset(names)
    if where is not None and reads <= set(names):
        points = kept_points(points, where)
    if len(points) > MOST_POINTS:
        raise definition_error(
            f"{label_text(entry.label)} would have {len(points):,} points", remedy="Give fewer values, or a filter."
        )
    return dataclasses.replace(entry, benchmark=dataclasses.replace(benchmark, sizes=points))


def _part(part: str, text: str) -> list[SizeValue]:
    """Return one value, or those of `16..4096*2`."""
    found = _RANGE.fullmatch(part)
    if found is None:
        if ".." in part or not part:
            raise _axis_error(text, f"{part!r} is not a value")
        return [_value(part)]
    first, last, step = (_number(found[name], text) for name in ("first", "last", "step"))
    multiplies = found["by"] == "*"
    if not (first <= last and (step > 1 and first > 0 if multiplies else step > 0)):
        raise _axis_error(text, f"{part!r} does not rise to its end")
    values = []
    while first <= last:
        values.append(first)
        first = first * step if multiplies else first + step
        if len(values) > MOST_POINTS:
            raise _axis_error(text, f"{part!r} has too many values")
    return list(values)


def _number(text: str, whole: str) -> int | float:
    value = _value(text.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _axis_error(whole, f"{text!r} is not a number")
    return value


def _axis_error(text: str, cause: str) -> DefinitionError:
    return DefinitionError(f"-L {text}: {cause}", remedy=_AXIS_FORM)


def _value(text: str) -> SizeValue:
    """Return a number, True, False, or else the text itself; `2^10` is a power."""
    power = re.fullmatch(r"(\d{1,9})\^(\d{1,2})", text)
    if power is not None:
        return int(int(power[1]) ** int(power[2]))
    try:
        value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | str) else text
