"""Select work orders by an expression over their labels, as pytest's -k does, and by tags.

A word matches if a label or auto label contains it, ignoring case; `name=value` must match exactly. Words are joined by
and, or, not and parentheses; quotes keep spaces inside a word: -k 'torchscript and not "Tensor index"'. Sentences say
how many orders were selected, and which words match none. Names in pyproject.toml and commit messages are matched here,
too: a benchmark, a group of them, or a pattern.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase

from photometer.errors import DefinitionError
from photometer.model.visible_text import visible_line
from photometer.plan.work_order import WorkOrder, WorkOrders

# Below this likeness (0 to 1) a suggestion would be a guess.
LIKE_ENOUGH = 0.6
MOST_SUGGESTIONS = 3


def selection_sentences(
    planned: WorkOrders, selected: WorkOrders, expression: str | None = None, tags: Collection[str] = ()
) -> list[str]:
    """Return the sentences about a selection; none without an expression or tags."""
    if expression is None and not tags:
        return []
    sentences = []
    names = {name for order in planned for name in names_of_order(order)}
    for word in expression_words(expression or ""):
        known = word in names if "=" in word else any(word in name for name in names)
        if not known:
            sentences.append(f"no label has {word!r}" + _did_you_mean(word, names))
    all_tags = {tag for order in planned for tag in order.tags}
    for tag in tags:
        if tag not in all_tags:
            sentences.append(f"no benchmark has the tag {tag!r}" + _did_you_mean(tag, all_tags))
    return [*sentences, f"{len(selected)} of {len(planned)} variants selected"]


def _did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the nearest of the names, or else of their words: labels often have several."""
    whole = sorted(set(names))
    parts = sorted({part for name in whole for part in name.replace(".", " ").split()})
    found = difflib.get_close_matches(word, whole, MOST_SUGGESTIONS, LIKE_ENOUGH)
    found = found or difflib.get_close_matches(word, parts, MOST_SUGGESTIONS, LIKE_ENOUGH)
    if not found:
        return "; `photometer list` shows the labels"
    return f"; did you mean {' or '.join(repr(name) for name in found)}?"


# Labels are shown as `rung › plain tensor`; a slash is easier to type.
_JOINT = re.compile(r"\s*[›/]\s*")
_VARIANT = re.compile(r" \[[^\[\]]*\]$")


def plain_name(title: str) -> str:
    """Return the name as users type it: labels separated by slashes, on one line."""
    return " ".join(_JOINT.sub("/", visible_line(title)).split())


def names_benchmark(pattern: str, title: str) -> bool:
    """Return whether `pattern` matches the benchmark: its name with or without the variant, its group, or `add*`."""
    wanted, whole = plain_name(pattern), plain_name(title)
    for name in (whole, _VARIANT.sub("", whole)):
        # First literally: titles contain brackets, which are special in a pattern.
        if wanted == name or name.startswith(f"{wanted}/") or fnmatchcase(name, wanted):
            return True
    return False


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
            raise self.error("a quote that is not closed")
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
