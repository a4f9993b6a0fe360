"""The options that switch instruments on, made from their declarations: a command takes them as one argument.

    @with_instruments
    def run(suites: Suites = None, *, options: Mapping[str, bool]) -> None: …

has `--wall/--no-wall`, `--memory` and so on; `options` has the value of each.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from photometer.instruments.declaration import Option

ARGUMENT = "options"


def is_comparable(option: Option) -> bool:
    """Return whether a comparison takes the figures of the option's instrument on every side."""
    from photometer.instruments.registry import compared_exactly

    return any(each.option == option for each in compared_exactly())


def with_instruments(command: Callable[..., Any], *, only: Callable[[Option], bool] = lambda option: True) -> Any:
    """Return the command with an option for each instrument, in place of its argument `options`."""
    chosen = [option for option in _declared_options() if only(option)]

    @functools.wraps(command)
    def with_options(**given: Any) -> Any:
        switched = {option.name: given.pop(option.name) for option in chosen}
        return command(**given, **{ARGUMENT: switched})

    own = inspect.signature(command, eval_str=True).parameters.values()
    added = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=Annotated[bool, typer.Option(option.declaration, help=option.help)],
        )
        for option in chosen
    ]
    parameters = [
        each for one in own for each in (added if one.name == ARGUMENT else [one.replace(kind=one.KEYWORD_ONLY)])
    ]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_options


def _declared_options() -> tuple[Option, ...]:
    if sys.platform == "win32":
        # Servers cannot be started there, nor can their modules be imported: every command that measures says so.
        return ()
    from photometer.instruments.registry import options

    return options()
