"""Records: nouns as the plain dicts that stand in a results file, and back.

A noun is a dataclass; its record has the same fields. What else there is to know, the noun says itself:

    KIND: ClassVar[str] = "measurement"              the "kind" of a record that stands in a file by itself
    ALWAYS: ClassVar[tuple[str, ...]] = ("notes",)   what is written and wanted although it has a default, as in 0.1

and with the annotations below. Writing takes the standard library alone. Reading is msgspec's: a Struct is made from
each noun's type hints, because msgspec knows tags, other names and limits for its own Structs only. It is imported
when the first record is read, so that nouns can be used in environments without it.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import math
import operator
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union

from photometer.errors import PhotometerError, ResultsFileError

_Noun = TypeVar("_Noun")
_Revive = Callable[[Any], Any]


# What a number in a record may be. Nothing that is measured is larger, and sums, squares and ratios of such numbers can
# be computed; a whole number of 400 digits, which JSON allows, is more than a float holds.
LARGEST_NUMBER = 1e30
LARGEST_WHOLE_NUMBER = 2**63 - 1
_LARGEST: Mapping[Any, float] = {float: LARGEST_NUMBER, int: LARGEST_WHOLE_NUMBER}


@dataclasses.dataclass(frozen=True)
class AtLeast:
    """The smallest value that is read from a record."""

    value: float


@dataclasses.dataclass(frozen=True)
class Unbounded:
    """The infinity that null stands for in a record: JSON has none."""

    value: float


@dataclasses.dataclass(frozen=True)
class Key:
    """The name in the record, if it is not the field's."""

    name: str


Positive = Annotated[int, AtLeast(1)]
NotNegative = Annotated[float, AtLeast(0)]
LowEnd = Annotated[float, Unbounded(-math.inf)]
HighEnd = Annotated[float, Unbounded(math.inf)]


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str
    key: str
    hint: Any
    # MISSING if the record must have it.
    default: Any
    may_be_infinite: bool


@functools.cache
def _fields_of(noun: Any) -> tuple[_Field, ...]:
    fields = dataclasses.fields(noun)
    # Of the fields alone: get_type_hints of a class fails at an InitVar in Python 3.10.
    annotated = types.SimpleNamespace(__annotations__={field.name: field.type for field in fields})
    hints = typing.get_type_hints(annotated, vars(sys.modules[noun.__module__]), include_extras=True)
    always: Sequence[str] = getattr(noun, "ALWAYS", ())
    found = []
    for field in fields:
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        marks = _marks(hints[field.name])
        key = next((mark.name for mark in marks if isinstance(mark, Key)), field.name)
        if field.name in always:
            default = dataclasses.MISSING
        found.append(
            _Field(field.name, key, hints[field.name], default, any(isinstance(mark, Unbounded) for mark in marks))
        )
    return tuple(found)


def _marks(hint: Any) -> list[Any]:
    """Return what is annotated anywhere in a type hint."""
    own = list(getattr(hint, "__metadata__", ()))
    return own + [mark for part in typing.get_args(hint) if part is not hint for mark in _marks(part)]


_PLAIN = frozenset({str, int, bool, type(None)})


def to_record(noun: Any) -> dict[str, Any]:
    """Return the record of a noun: with its kind if it has one, and without fields that have their default."""
    written = {}
    for field in _fields_of(noun.__class__):
        value = getattr(noun, field.name)
        if value != field.default:
            written[field.key] = _written(value, field.may_be_infinite)
    kind = getattr(noun, "KIND", None)
    # Lists are long, and stand last: the beginning of a line should say what it is.
    lists = {name: written.pop(name) for name in list(written) if written[name].__class__ is list}
    return {**written, **lists} if kind is None else {"kind": kind, **written, **lists}


def _written(value: Any, may_be_infinite: bool = False) -> Any:
    # Most values are one of these; a plan of 20,000 orders asks half a million times.
    if value.__class__ in _PLAIN:
        return value
    if isinstance(value, str | int | float) or value is None:
        return None if may_be_infinite and isinstance(value, float) and math.isinf(value) else value
    if isinstance(value, enum.Enum):
        return _spelling(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return [_written(part, may_be_infinite) for part in value]
    # Other types are not for JSON; the writer of the file reports them.
    return to_record(value) if dataclasses.is_dataclass(value) else value


def _spelling(member: enum.Enum) -> Any:
    # Numbers are torch's values and tell a reader nothing.
    return member.name.lower() if isinstance(member.value, int) else member.value


def from_record(noun: type[_Noun], record: object) -> _Noun:
    """Return the noun of a record that anyone may have written; an error names the field."""
    import msgspec

    struct, build = _reading(typing.cast(Any, noun))
    try:
        return typing.cast(_Noun, build(msgspec.convert(record, struct)))
    except msgspec.ValidationError as error:
        raise ResultsFileError(_in_words(str(error), noun, record)) from error
    except UnicodeEncodeError as error:
        # msgspec looks into text where it expects none, and half a character there cannot be encoded.
        raise ResultsFileError(
            f"{_name_of(noun)} with text instead of a number or a word: {error.object!r:.80}"
        ) from error
    except PhotometerError as error:
        raise ResultsFileError(f"{_name_of(noun)} that cannot be: {error.message}") from error


@functools.cache
def _reading(noun: Any) -> tuple[Any, _Revive]:
    """Return the Struct that checks the noun's records, and what makes the noun of such a Struct."""
    import msgspec

    members: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    revivers: dict[str, _Revive] = {}
    for field in _fields_of(noun):
        hint, revive = _read_as(field.hint)
        if revive is not None:
            revivers[field.name] = revive
        if field.default is dataclasses.MISSING:
            members.append((field.name, hint))
        else:
            # Left to the noun's own default.
            members.append((field.name, hint | msgspec.UnsetType, msgspec.UNSET))
    kind = getattr(noun, "KIND", None)
    struct = msgspec.defstruct(
        _name_of(noun),
        members,
        namespace={"__doc__": inspect.cleandoc(noun.__doc__)},
        kw_only=True,
        rename={field.name: field.key for field in _fields_of(noun)},
        tag_field=None if kind is None else "kind",
        tag=kind,
    )

    def build(checked: Any) -> Any:
        values = {name: value for name, value in msgspec.structs.asdict(checked).items() if value is not msgspec.UNSET}
        for name in revivers.keys() & values:
            values[name] = revivers[name](values[name])
        return noun(**values)

    return struct, build


def _read_as(hint: Any) -> tuple[Any, _Revive | None]:
    """Return the type that msgspec reads for a type hint, and what makes the noun's value of it, if it is another."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _read_marked(parts[0], parts[1:])
    if origin in (Union, types.UnionType):
        return _read_union(parts)
    if origin is tuple:
        return _read_tuple(parts)
    if origin is list:
        hint, revive = _read_as(parts[0])
        return list.__class_getitem__(hint), revive and (lambda values: list(map(revive, values)))
    if dataclasses.is_dataclass(hint):
        return _reading(typing.cast(Any, hint))
    return _read_plain(hint)


def _read_plain(hint: Any) -> tuple[Any, _Revive | None]:
    if hint in _LARGEST:
        return _limited(hint, -_LARGEST[hint]), None
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        members = {_spelling(member): member for member in hint}
        return Literal[tuple(members)], members.__getitem__
    return hint, None


def _read_marked(hint: Any, marks: Sequence[Any]) -> tuple[Any, _Revive | None]:
    read, revive = _read_as(hint)
    for mark in marks:
        if isinstance(mark, AtLeast):
            read = _limited(hint, mark.value)
        elif isinstance(mark, Unbounded):
            read, revive = read | None, functools.partial(_end, mark.value)
    return read, revive


def _limited(number: Any, smallest: float) -> Any:
    """Return the type of numbers from `smallest` up to the largest of their kind."""
    import msgspec

    return Annotated[number, msgspec.Meta(ge=smallest, le=_LARGEST[number])]


def _read_union(parts: Sequence[Any]) -> tuple[Any, _Revive | None]:
    """Read plain types, or one noun or None."""
    read = [_read_as(part) for part in parts]
    revive = next((revive for _, revive in read if revive is not None), None)
    hint = functools.reduce(operator.or_, (hint for hint, _ in read))
    return hint, revive and (lambda value: None if value is None else revive(value))


def _read_tuple(parts: Sequence[Any]) -> tuple[Any, _Revive | None]:
    if parts[-1] is Ellipsis:
        hint, revive = _read_as(parts[0])
        return tuple.__class_getitem__((hint, ...)), revive and (lambda values: tuple(map(revive, values)))
    read = [_read_as(part) for part in parts]
    revivers = [revive or _unchanged for _, revive in read]
    hints = tuple.__class_getitem__(tuple(hint for hint, _ in read))
    return hints, lambda values: tuple(revive(value) for revive, value in zip(revivers, values, strict=True))


def _end(infinity: float, value: float | None) -> float:
    return infinity if value is None else value


def _unchanged(value: Any) -> Any:
    return value


def schemas_of(nouns: Sequence[type]) -> dict[str, Any]:
    """Return the JSON schemas of the nouns' records and of all that is in them, by the names of the nouns."""
    import msgspec

    _, schemas = msgspec.json.schema_components([_reading(noun)[0] for noun in nouns], ref_template="#/$defs/{name}")
    return schemas


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _in_words(message: str, noun: type, record: object) -> str:
    """Return msgspec's message with the field and its value in front: `task_spec.stmt should be text, found 3`."""
    problem, _, path = message.partition(" - at `")
    path = path.rstrip("`") or "$"
    place = path.replace("$", "" if hasattr(noun, "KIND") else _name_of(noun), 1).lstrip(".") or "the record"
    if missing := re.fullmatch(r"Object missing required field `(.+)`", problem):
        return f"{place} has no {missing[1]}"
    found = f"found {_value_at(record, path)!r:.80}"
    if smallest := re.fullmatch(r"Expected `\w+` >= (.+)", problem):
        return f"{place} should not be {'negative' if float(smallest[1]) == 0 else f'below {smallest[1]}'}, {found}"
    if largest := re.fullmatch(r"Expected `\w+` <= (.+)", problem):
        return f"{place} should not be above {largest[1]}, {found}"
    if expected := re.fullmatch(r"Expected `([\w| ]+)`, got `\w+`", problem):
        wanted = " or ".join(_WORDS.get(word, word) for word in expected[1].split(" | "))
        return f"{place} should be {wanted}, {found}"
    return f"{place}: {problem[0].lower()}{problem[1:]}, {found}"


def _value_at(record: Any, path: str) -> Any:
    for key, place in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        record = record[key] if key else record[int(place)]
    return record


def _name_of(noun: Any) -> str:
    """Return its kind, or `task_spec` for TaskSpec."""
    return str(getattr(noun, "KIND", None) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", noun.__name__).lower())
