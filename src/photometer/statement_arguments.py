"""What users give as a statement and its surroundings, checked: text, callables, names, whole numbers, and torch.

Used by Timer and ab alike, so that both refuse the same mistakes with the same words.
"""

from __future__ import annotations

import operator
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from photometer.errors import DefinitionError, ToolMissing


def tidy(text: str, name: str = "stmt") -> str:
    """Return text without its common indentation, one leading line break and trailing white space."""
    if not isinstance(text, str):
        raise DefinitionError(f"{name}: expected text, not {type(text).__name__}", remedy="Give the code as a string.")
    return textwrap.dedent(text).removeprefix("\n").rstrip()


def whole_number(name: str, value: Any) -> int:
    """Return the value as an int of at least 1; numpy's integers are welcome, and text and fractions are not."""
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
    """Refuse what is neither text nor None."""
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


def imported_torch() -> Any:
    """Return torch, which statements see; if it is not installed, say how to get it."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ToolMissing(
            "torch is not installed in this environment",
            remedy="Install the build that you want to measure, such as with `pip install torch`.",
        ) from error
    return torch
