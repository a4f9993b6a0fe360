"""What torch.utils.benchmark offers in public is here under the same name, with the same parameters and defaults."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import timeit
import types
from typing import Any

import torch
import torch.utils.benchmark as torch_benchmark

import photometer
from tests.guards.sources import check_each

PUBLIC = sorted(
    name
    for name, value in vars(torch_benchmark).items()
    if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith("torch.utils.benchmark")
)


def ours(name: str) -> Any:
    return getattr(photometer, name)


def members(cls: type) -> list[str]:
    """Public attributes that the class itself, not object, enum or its instances, brings."""
    names = {n for base in cls.__mro__ if str(base.__module__).startswith("torch.utils.benchmark") for n in vars(base)}
    return sorted(n for n in names if not n.startswith("_")) + (["__init__"] if not issubclass(cls, enum.Enum) else [])


MEMBERS = [
    (name, member)
    for name in PUBLIC
    if inspect.isclass(value := getattr(torch_benchmark, name))
    for member in members(value)
]


def test_the_walk_finds_what_it_should() -> None:
    assert {"Timer", "Measurement", "Compare", "Fuzzer", "CallgrindStats"} <= set(PUBLIC)
    # Without an accelerator torch 2.4 has timeit's clock under this name.
    assert "timer" in PUBLIC or torch_benchmark.timer is timeit.default_timer
    assert ("Timer", "blocked_autorange") in MEMBERS
    assert ("Measurement", "median") in MEMBERS


def test_names_are_here() -> None:
    check_each(PUBLIC, check_name)


def check_name(name: str) -> None:
    value = ours(name)
    theirs = getattr(torch_benchmark, name)
    assert inspect.isclass(value) == inspect.isclass(theirs)
    if isinstance(theirs, types.FunctionType):
        same_signature(value, theirs)


def test_members_are_here() -> None:
    check_each(MEMBERS, check_member)


def check_member(named: tuple[str, str]) -> None:
    name, member = named
    cls = ours(name)
    theirs = inspect.getattr_static(getattr(torch_benchmark, name), member)
    assert hasattr(cls, member) or has_when_made(cls, member)
    if isinstance(theirs, types.FunctionType | staticmethod | classmethod):
        same_signature(getattr(cls, member), getattr(getattr(torch_benchmark, name), member))


def test_fields_of_records_are_here() -> None:
    check_each([name for name in PUBLIC if dataclasses.is_dataclass(getattr(torch_benchmark, name))], check_fields)


def check_fields(name: str) -> None:
    cls = ours(name)
    wanted = [field.name for field in dataclasses.fields(getattr(torch_benchmark, name))]
    annotated = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    assert [field for field in wanted if field not in annotated and not hasattr(cls, field)] == []


def test_members_of_enums_have_the_same_values() -> None:
    check_each(("Language", "Colorize"), check_values)


def check_values(name: str) -> None:
    theirs = {member.name: member.value for member in getattr(torch_benchmark, name)}
    assert {member.name: member.value for member in ours(name)} == theirs


def has_when_made(cls: type, member: str) -> bool:
    """Whether an instance has it: torch's properties are plain attributes in some of our classes."""
    examples = {
        "FuzzedParameter": ("k", 1, 2, "uniform"),
        "FuzzedTensor": ("x", (1,)),
        "FuzzedSparseTensor": ("x", (1,)),
    }
    if cls.__name__ in examples:
        return hasattr(cls(*examples[cls.__name__]), member)
    return member in {field.name for field in dataclasses.fields(cls)}


def same_signature(value: Any, theirs: Any) -> None:
    """Every call that torch's takes, ours takes: same names, order, kinds and defaults; more only with a default."""
    here, there = inspect.signature(value).parameters, inspect.signature(theirs).parameters
    order = [p.name for p in here.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    expected = [p.name for p in there.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    assert order[: len(expected)] == expected
    for parameter in there.values():
        assert parameter.name in here
        if parameter.default is not parameter.empty:
            assert spelled(here[parameter.name].default) == spelled(parameter.default)
    for name in set(here) - set(there):
        extra = here[name]
        assert extra.default is not extra.empty or extra.kind in (extra.VAR_KEYWORD, extra.VAR_POSITIONAL)


def spelled(default: object) -> object:
    """Enum members, functions and dtypes may be ours on one side and torch's on the other: compared by name."""
    if default is timeit.default_timer and torch_benchmark.timer is default:
        return "timer"
    if isinstance(default, torch.dtype):
        return str(default).removeprefix("torch.")
    return getattr(default, "name", None) or getattr(default, "__name__", None) or default
