"""What a benchmark is repeated over (threads, devices, sizes), and the words it is chosen and judged by.

In comes what the author wrote (a number or a tuple, a mapping of tuples or a list of mappings); out come tuples.
"""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Mapping, Sequence

from photometer.definition.place import definition_error
from photometer.definition.signature import RESERVED_NAMES, RESERVED_PREFIX
from photometer.definition.timer_args import check_thread_count
from photometer.errors import DefinitionError
from photometer.model.fail_rules import parse_rules

SizeValue = int | float | bool | str | tuple[int, ...]
# One point of a sweep: (("n", 64), ("m", 8)).
SizePoint = tuple[tuple[str, SizeValue], ...]
SizesArgument = Mapping[str, object] | Sequence[Mapping[str, object]]

_SIZES_FORM = 'Write sizes={"n": (64, 256)} for every combination, or sizes=({"n": 64, "m": 8}, …) for chosen points.'


def thread_counts(num_threads: object) -> tuple[int, ...]:
    counts = num_threads if isinstance(num_threads, (tuple, list)) else (num_threads,)
    for count in counts:
        check_thread_count(count)
    if not counts or len(set(counts)) != len(counts):
        raise definition_error(
            f"num_threads is {num_threads!r}", remedy="Name at least one number of threads, and each once."
        )
    return tuple(counts)


def rank_counts(ranks: object) -> tuple[int, ...]:
    """Return the sizes of the groups; none if the benchmark needs no group."""
    counts = tuple(ranks) if isinstance(ranks, (tuple, list)) else (ranks,)
    whole = all(isinstance(count, int) and not isinstance(count, bool) and count > 0 for count in counts)
    if not whole or len(set(counts)) != len(counts):
        raise definition_error(
            f"ranks is {ranks!r}", remedy="Give a number of processes from 1 up, or a tuple of them: ranks=(2, 4)."
        )
    return counts


def device_names(devices: object) -> tuple[str, ...]:
    """Return the names; without any the benchmark runs on the CPU and has no variable `device`."""
    names = (devices,) if isinstance(devices, str) else tuple(devices) if isinstance(devices, (tuple, list)) else None
    if devices is None:
        return ()
    if names is None or not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
        raise definition_error(f"devices is {devices!r}", remedy='Write devices=("cpu", "cuda"), each name once.')
    return names


def tag_names(tags: object) -> tuple[str, ...]:
    names = (
        (tags,) if isinstance(tags, str) else tuple(tags) if isinstance(tags, (tuple, list, set, frozenset)) else None
    )
    if names is None or not all(isinstance(name, str) and name and not any(map(str.isspace, name)) for name in names):
        raise definition_error(f"tags is {tags!r}", remedy='Write tags=("quick", "alloc"): words without spaces.')
    return tuple(sorted(set(names)))


def fail_words(rules: object) -> tuple[str, ...] | None:
    """Return the rules by which a comparison fails for a benchmark, as written; None leaves it to the project."""
    if rules is None:
        return None
    words = (rules,) if isinstance(rules, str) else tuple(rules) if isinstance(rules, (tuple, list)) else ()
    if not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise definition_error(f"fail_on is {rules!r}", remedy='Write fail_on="slower:5%", or "never".')
    try:
        parse_rules(words)
    except DefinitionError as error:
        raise definition_error(f"fail_on: {error.message}", remedy=error.remedy or "") from None
    return words


def size_points(sizes: object) -> tuple[SizePoint, ...]:
    """Return every point of the sweep; one empty point if there are no sizes."""
    if sizes is None:
        return ((),)
    if isinstance(sizes, Mapping):
        axes = [[(name, value) for value in _values(name, values)] for name, values in sizes.items()]
        points = [tuple(point) for point in itertools.product(*axes)]
    elif isinstance(sizes, (tuple, list)) and sizes and all(isinstance(point, Mapping) for point in sizes):
        points = [tuple((name, _value(name, value)) for name, value in point.items()) for point in sizes]
        if len({tuple(name for name, _ in point) for point in points}) > 1:
            raise definition_error("the points of sizes do not name the same sizes", remedy=_SIZES_FORM)
    else:
        raise definition_error(f"sizes is {sizes!r}", remedy=_SIZES_FORM)
    for name, _ in points[0] if points else ():
        _check_name(name)
    if not points or not points[0] or len(set(points)) != len(points):
        raise definition_error(f"sizes is {sizes!r}, which is empty or has a point twice", remedy=_SIZES_FORM)
    return tuple(points)


def _values(name: str, values: object) -> list[SizeValue]:
    if not isinstance(values, (tuple, list, range)) or len(values) == 0:
        raise definition_error(f"the size {name!r} is {values!r}, not a tuple of values", remedy=_SIZES_FORM)
    return [_value(name, value) for value in values]


def _value(name: str, value: object) -> SizeValue:
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)) and all(isinstance(item, int) and not isinstance(item, bool) for item in value):
        return tuple(value)
    raise definition_error(
        f"a value of the size {name!r} is {value!r}",
        remedy="A size is an int, a float, a bool, a str or a tuple of ints: each is written in Python and in C++.",
    )


def _check_name(name: object) -> None:
    usable = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
    if not usable or name in RESERVED_NAMES | {"device", "torch"} or str(name).startswith(RESERVED_PREFIX):
        raise definition_error(
            f"a size is called {name!r}", remedy="Choose a variable name that the generated code does not use itself."
        )
