"""Options that are made from declarations, such as those of output formats and instruments.

A command takes all of a kind as one argument:

    @with_formats
    @with_instruments
    def run(suites: Suites = None, *, options: Mapping[str, bool], asked: Wanted) -> None: …

has `--wall/--no-wall`, `--memory` and so on, whose values are in `options`, and `--json`, `--csv` and so on in `asked`.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from photometer.instruments.declaration import Option


def in_place_of(
    argument: str, options: Mapping[str, tuple[Any, object]], gather: Callable[[dict[str, Any]], object]
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that gives a command these options (type and default by name) in place of an argument.

    `gather` makes the argument of their values.
    """

    def decorate(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def with_options(**given: Any) -> Any:
            values = {name: given.pop(name) for name in options}
            return command(**given, **{argument: gather(values)})

        own = inspect.signature(command, eval_str=True).parameters.values()
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in options.items()
        ]
        parameters = [
            each for one in own for each in (added if one.name == argument else [one.replace(kind=one.KEYWORD_ONLY)])
        ]
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_options

    return decorate


def is_comparable(option: Option) -> bool:
    """Return whether a comparison takes the figures of the option's instrument on every side."""
    from photometer.instruments.registry import compared_exactly

    return any(each.option == option for each in compared_exactly())


def with_instruments(command: Callable[..., Any], *, only: Callable[[Option], bool] = lambda option: True) -> Any:
    """Return the command with an option for each instrument, in place of its argument `options`."""
    options = {
        option.name: (Annotated[bool, typer.Option(option.declaration, help=option.help)], option.default)
        for option in _declared_options()
        if only(option)
    }
    return in_place_of("options", options, lambda switched: switched)(command)


def _declared_options() -> tuple[Option, ...]:
    if sys.platform == "win32":
        # Servers cannot be started there, nor can their modules be imported: every command that measures says so.
        return ()
    from photometer.instruments.registry import options

    return options()
