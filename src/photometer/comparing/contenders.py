"""Contender: one statement of a comparison: its text and the objects that the text needs.

In: what a user gave to `ab`: text, callables with arguments, a dict of names, globals. Out: contenders with unique
names. One that needs no objects can run in a server; the others need this process, which has them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from photometer.definition.python_names import names_of
from photometer.errors import DefinitionError
from photometer.plan.codegen_python import CLEAR_GRADIENTS, gradient_leaves
from photometer.statement_arguments import bind_call, tidy

Stmt = str | Callable[..., Any]

FEWEST = 2
# All pairs are judged: 190 of them cost a second per replicate.
MOST = 20


@dataclasses.dataclass(frozen=True)
class Contender:
    """`names` are objects of this process that `stmt` uses."""

    name: str
    stmt: str
    setup: str = "pass"
    names: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False)


def gather_contenders(
    statements: Sequence[Stmt | Mapping[str, Stmt]],
    *,
    setup: str = "pass",
    setup_b: str | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    globals: Mapping[str, Any] | None = None,
) -> tuple[Contender, ...]:
    """Return the statements to compare, the reference first."""
    given = _by_name(statements)
    if not FEWEST <= len(given) <= MOST:
        raise DefinitionError(
            f"ab compares {FEWEST} to {MOST} statements, not {len(given)}",
            remedy="Give several, ab(a, b, …), or a dict of them by name.",
        )
    if setup_b is not None and len(given) != FEWEST:
        raise DefinitionError(
            f"setup_b is the set-up of the second of two statements; there are {len(given)} statements",
            remedy="Give one `setup` for all.",
        )
    texts = [stmt for _, stmt in given if isinstance(stmt, str)]
    if (args or kwargs) and texts:
        raise DefinitionError(
            f"args and kwargs are for callables, but {texts[0]!r} is text",
            remedy="Pass objects for text as globals={'x': x}.",
        )
    if globals is not None and not isinstance(globals, Mapping):
        raise DefinitionError(f"globals must be a dict of names, not {type(globals).__name__}", remedy='Give {"x": x}.')
    setups = [tidy(setup, "setup")] * len(given)
    if setup_b is not None:
        setups[1] = tidy(setup_b, "setup_b")
    made = [
        _contender(name, stmt, own, args, kwargs or {}, globals or {})
        for (name, stmt), own in zip(given, setups, strict=True)
    ]
    return with_unique_names(made)


def _by_name(statements: Sequence[Stmt | Mapping[str, Stmt]]) -> list[tuple[str, Stmt]]:
    """Return statements with the names given to them, or empty names."""
    if len(statements) == 1 and isinstance(statements[0], Mapping):
        return [(str(name), stmt) for name, stmt in statements[0].items()]
    found: list[tuple[str, Stmt]] = []
    for stmt in statements:
        if isinstance(stmt, Mapping):
            raise DefinitionError(
                "a dict of statements must be the only argument", remedy="Put all statements into it."
            )
        found.append(("", stmt))
    return found


def _contender(
    name: str, stmt: Any, setup: str, args: Sequence[Any], kwargs: Mapping[str, Any], globals: Mapping[str, Any]
) -> Contender:
    if isinstance(stmt, str):
        return Contender(name or tidy(stmt), tidy(stmt), setup, dict(globals))
    if not callable(stmt):
        raise DefinitionError(
            f"a statement is text or a callable, not {type(stmt).__name__}",
            remedy="Give code as text, or a function that takes `args` and `kwargs`.",
        )
    _, text, bound = bind_call(stmt, args, kwargs)
    shown = f"{name_of(stmt)}({'…' if args or kwargs else ''})"
    return Contender(name or shown, text, setup, {**globals, **bound})


def name_of(function: Callable[..., Any]) -> str:
    """Return a readable name: `f`, `Net.forward`, `Linear`, `lambda at line 12`, `compiled f`."""
    if isinstance(function, functools.partial):
        return f"partial({name_of(function.func)})"
    compiled = getattr(function, "_torchdynamo_orig_callable", None) or getattr(function, "_orig_mod", None)
    if compiled is not None:
        return f"compiled {name_of(compiled)}"
    original = inspect.unwrap(function)
    name = getattr(original, "__qualname__", None) or type(original).__name__
    short = str(name).rpartition("<locals>.")[2]
    code = getattr(original, "__code__", None)
    return f"lambda at line {code.co_firstlineno}" if short == "<lambda>" and code is not None else short


def clearing_gradients(contenders: Sequence[Contender]) -> tuple[Contender, ...]:
    """Return the contenders such that text with a backward pass clears gradients before each run.

    A training step does so, too. A statement that clears or reads gradients itself is left as it is.
    """
    return tuple(_clearing(each) if _accumulates(each) else each for each in contenders)


def _accumulates(contender: Contender) -> bool:
    words = contender.stmt
    return not contender.names and ".backward(" in words and "zero_grad" not in words and ".grad" not in words


def _clearing(contender: Contender) -> Contender:
    leaves = gradient_leaves(sorted(names_of(contender.setup).bound))
    setup = f"{contender.setup}\n{leaves}"
    return dataclasses.replace(contender, stmt=f"{CLEAR_GRADIENTS}\n{contender.stmt}", setup=setup)


def with_unique_names(contenders: Sequence[Contender]) -> tuple[Contender, ...]:
    """Return the contenders with a number after each name that several have."""
    times = Counter(contender.name for contender in contenders)
    seen: Counter[str] = Counter()
    found = []
    for contender in contenders:
        if times[contender.name] > 1:
            seen[contender.name] += 1
            contender = dataclasses.replace(contender, name=f"{contender.name} [{seen[contender.name]}]")
        found.append(contender)
    return tuple(found)
