"""The signature of a benchmark: `f(x, w) -> y` names what the statement reads from its set-up and what it assigns.

In comes the author's text, out comes a `Signature`, or an error with a caret below the first wrong character.
"""

from __future__ import annotations

import dataclasses
import keyword
import re

from photometer.definition.place import definition_error, excerpt

_FORM = 'Write it as "f(x, w) -> y", or "-> None" if the statement has no output.'
# Names that generated code gives to its own variables, in either language.
RESERVED_NAMES = frozenset({"model", "jit_model", "compiled_model", "ivalue_inputs"})
RESERVED_PREFIX = "photometer_"


@dataclasses.dataclass(frozen=True)
class Signature:
    """The names read, in order, and the name assigned (None if there is none)."""

    args: tuple[str, ...]
    output: str | None
    text: str = dataclasses.field(compare=False)


def parse_signature(text: object) -> Signature | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise definition_error(f"signature is {text!r}, not text", remedy=_FORM)
    scanner = _Scanner(text)
    if scanner.identifier("the function's name, f") != "f":
        raise scanner.error("the function is called f", at=0)
    scanner.literal("(")
    args: list[str] = []
    if not scanner.optional(")"):
        args.append(scanner.variable("the name of an argument", args))
        while not scanner.optional(")"):
            scanner.literal(",", expected=", or )")
            args.append(scanner.variable("the name of an argument", args))
    scanner.literal("->")
    output = scanner.variable("the name of the output, or None", [], none_allowed=True)
    if scanner.peek(","):
        raise scanner.error("only one output is possible; choose the one to call backward() on")
    scanner.end()
    return Signature(tuple(args), None if output == "None" else output, text)


class _Scanner:
    """Reads a signature from left to right; an error shows its caret at `position`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._skip_space()

    def identifier(self, expected: str) -> str:
        match = re.compile(r"[^\W\d]\w*").match(self.text, self.position)
        if match is None:
            raise self.error(f"expected {expected}")
        self.position = match.end()
        self._skip_space()
        return match.group()

    def variable(self, expected: str, earlier: list[str], *, none_allowed: bool = False) -> str:
        start = self.position
        name = self.identifier(expected)
        if name == "None" and none_allowed:
            return name
        if keyword.iskeyword(name):
            raise self.error(f"{name} is a word of Python, not a variable", at=start)
        if name in earlier:
            raise self.error(f"{name} is named twice", at=start)
        if name in RESERVED_NAMES or name.startswith(RESERVED_PREFIX):
            raise self.error(f"{name} is a name that generated code uses; choose another", at=start)
        return name

    def peek(self, literal: str) -> bool:
        return self.text.startswith(literal, self.position)

    def optional(self, literal: str) -> bool:
        if not self.peek(literal):
            return False
        self.position += len(literal)
        self._skip_space()
        return True

    def literal(self, literal: str, expected: str | None = None) -> None:
        if not self.optional(literal):
            raise self.error(f"expected {expected or literal}")

    def end(self) -> None:
        if self.position != len(self.text):
            raise self.error("nothing may follow the output")

    def error(self, message: str, at: int | None = None) -> Exception:
        column = self.position if at is None else at
        shown = excerpt(self.text.replace("\n", " "), 0, column)
        return definition_error(f"the signature does not parse: {message}", shown=shown, remedy=_FORM)

    def _skip_space(self) -> None:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
