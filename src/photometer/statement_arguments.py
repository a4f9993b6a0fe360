"""Check the statements that users give, and their surroundings: text, callables, names, and whole numbers.

Timer and ab both use it, so that they refuse the same mistakes with the same words.
"""

from __future__ import annotations

import operator
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from photometer.errors import DefinitionError, SnippetError
from photometer.worker.python_loop import compile_blocks
from photometer.worker.user_error import describe_exception


def tidy(text: str, name: str = "stmt") -> str:
    """Return text without its common indentation, one leading line break and trailing white space."""
    if not isinstance(text, str):
        raise DefinitionError(f"{name}: expected text, not {type(text).__name__}", remedy="Give the code as a string.")
    return textwrap.dedent(text).removeprefix("\n").rstrip()


def compile_python(stmt: str, setup: str) -> None:
    """Raise Python's error if it cannot compile the two texts: mostly a SyntaxError that shows the user's line.

    The worker compiles them in the same way, but only after torch has been imported.
    """
    with warnings.catch_warnings():
        # They are shown when the code is compiled to be run.
        warnings.simplefilter("ignore")
        compile_blocks(stmt, setup)


def check_python(stmt: str, setup: str) -> None:
    """Raise SnippetError, as a worker's child would, if Python cannot compile the two texts."""
    try:
        compile_python(stmt, setup)
    except Exception as error:
        described = describe_exception(error)
        kind, message = described["type"], described["message"]
        raise SnippetError(f"{kind}: {message}", exception_type=kind, log=described["traceback"]) from None


def whole_number(name: str, value: Any) -> int:
    """Return the value as an int of at least 1; accept numpy's integers, and refuse text and fractions."""
    try:
        number = operator.index(value)
    except TypeError:
        raise DefinitionError(
            f"{name} must be a whole number, not {type(value).__name__}", remedy=f"Give {name} as an int, such as 1."
        ) from None
    if number < 1:
        raise DefinitionError(f"{name} must be at least 1, not {number}")
    return number


def check_texts(**texts: Any) -> None:
    """Refuse a value that is neither text nor None."""
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise DefinitionError(
                f"{name} must be text, not {type(text).__name__}", remedy=f"Give it as text: str({name})."
            )


def checked_names(globals: Any) -> dict[str, Any]:
    """Return the globals of a statement as a dict of their own."""
    if globals is None:
        return {}
    if not isinstance(globals, Mapping):
        raise DefinitionError(f"globals must be a dict of names, not {type(globals).__name__}", remedy='Give {"x": x}.')
    return dict(globals)


def bind_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Return a callable and its arguments as a statement: how it reads, its text, and the names that text uses.

    Each argument gets a name of its own, so that the loop makes a plain call and no unpacking is timed.
    """
    name = getattr(function, "__name__", None) or type(function).__name__
    bound: dict[str, Any] = {"_photometer_function": function}
    texts = []
    for i, value in enumerate(args):
        bound[f"_photometer_arg_{i}"] = value
        texts.append(f"_photometer_arg_{i}")
    for key, value in kwargs.items():
        if not key.isidentifier():
            raise DefinitionError(f"keyword {key!r} is not a name")
        bound[f"_photometer_kwarg_{key}"] = value
        texts.append(f"{key}=_photometer_kwarg_{key}")
    shown = f"{name}({', '.join(['…'] * bool(texts))})"
    return shown, f"_photometer_function({', '.join(texts)})", bound
