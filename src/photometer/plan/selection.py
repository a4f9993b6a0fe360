"""Selects work orders by an expression over their labels, as pytest's -k does, and by tags.

A word matches if a label or auto label contains it, ignoring case; `name=value` must match exactly. Words are joined by
and, or, not and parentheses; quotes keep spaces inside a word: -k 'torchscript and not "Tensor index"'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from photometer.errors import DefinitionError
from photometer.plan.work_order import WorkOrder, WorkOrders

_TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))"""
)

# Parentheses and "not" inside each other. Each takes a few frames of Python's stack, which has a thousand.
DEEPEST_NESTING = 50

Matcher = Callable[[frozenset[str]], bool]


def select(orders: WorkOrders, expression: str | None = None, tags: Collection[str] = ()) -> WorkOrders:
    """Return the orders that the expression matches and that have one of the tags (if any are given)."""
    matches = None if expression is None else parse_expression(expression)
    return orders.only(
        tuple(
            order
            for order in orders
            if (not tags or any(tag in order.tags for tag in tags))
            and (matches is None or matches(names_of_order(order)))
        )
    )


def names_of_order(order: WorkOrder) -> frozenset[str]:
    """Return the names that the words of an expression are compared with."""
    return frozenset(name.lower() for name in (*order.label, *order.auto.words(), *order.tags))


def expression_words(expression: str) -> list[str]:
    """Return the words of an expression that are compared with names, in lower case."""
    words = []
    for match in _TOKEN.finditer(expression):
        kind = str(match.lastgroup)
        word = match.group(kind).lower()
        if kind in ("double", "single") or (kind == "word" and word not in ("and", "or", "not")):
            words.append(word)
    return words


def parse_expression(expression: str) -> Matcher:
    parser = _Parser(expression)
    matcher = parser.either()
    if parser.token is not None:
        raise parser.error("expected and, or, or the end")
    return matcher


class _Parser:
    """either := both ("or" both)*   both := one ("and" one)*   one := "not" one | "(" either ")" | word"""

    def __init__(self, text: str) -> None:
        self.text = text
        self.next_position = 0
        self.depth = 0
        self.advance()

    def advance(self) -> None:
        """Read the next token: `token` is its kind, or "and", "or", "not"; None at the end."""
        rest = self.text[self.next_position :]
        self.position = self.next_position + len(rest) - len(rest.lstrip())
        self.token: str | None = None
        self.word = ""
        if not rest.strip():
            return
        match = _TOKEN.match(self.text, self.next_position)
        if match is None:
            raise self.error("a quote without its partner")
        kind = str(match.lastgroup)
        self.word = match.group(kind)
        is_operator = kind == "word" and self.word.lower() in ("and", "or", "not")
        self.token = self.word.lower() if is_operator else kind
        self.next_position = match.end()

    def either(self) -> Matcher:
        parts = [self.both()]
        while self.token == "or":
            self.advance()
            parts.append(self.both())
        return lambda names: any(part(names) for part in parts)

    def both(self) -> Matcher:
        parts = [self.one()]
        while self.token == "and":
            self.advance()
            parts.append(self.one())
        return lambda names: all(part(names) for part in parts)

    def one(self) -> Matcher:
        if self.token in ("not", "open"):
            if self.depth == DEEPEST_NESTING:
                raise self.error(f"more than {DEEPEST_NESTING} parentheses or nots inside each other")
            self.depth += 1
            inner = self.negated() if self.token == "not" else self.enclosed()
            self.depth -= 1
            return inner
        word = self.word.lower()
        if self.token not in ("word", "double", "single"):
            raise self.error("expected a word")
        self.advance()
        if "=" in word:
            return lambda names: word in names
        return lambda names: any(word in name for name in names)

    def negated(self) -> Matcher:
        self.advance()
        inner = self.one()
        return lambda names: not inner(names)

    def enclosed(self) -> Matcher:
        self.advance()
        inner = self.either()
        if self.token != "close":
            raise self.error("expected )")
        self.advance()
        return inner

    def error(self, message: str) -> DefinitionError:
        return DefinitionError(
            f"-k does not parse: {message}",
            log=f"  {self.text}\n  {' ' * self.position}^",
            remedy="Join words with and, or, not and parentheses; put quotes around a word with spaces.",
        )
