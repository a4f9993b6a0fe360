"""Expressions in the sizes of a sweep, such as `2 * n ** 3` for flops= and `n * m <= 4096` for a filter.

In comes the author's text, out come numbers at the points of the sweep. The text is parsed and computed here, node by
node; nothing is executed, so that an expression from a command line is data too.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from photometer.definition.place import definition_error, excerpt

_FORM = "Use numbers, the names of sizes, + - * / // % **, comparisons, and, or, not, min, max, abs, prod and log2."
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, several: value in several,
    ast.NotIn: lambda value, several: value not in several,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "prod": math.prod,
    "log2": math.log2,
}
# A larger power is a mistake, and powers of powers would take minutes to compute.
LARGEST_EXPONENT = 64
MOST_BITS = 4096
LONGEST_TEXT = 1000


class SizeExpression:
    """A checked expression. `names` are the sizes it reads."""

    def __init__(self, text: str, what: str) -> None:
        self.text = text
        self._what = what
        self._tree = _parse(text, what)
        called = {node.func.id for node in ast.walk(self._tree) if _is_call(node)}  # type: ignore[attr-defined]
        read = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        self.names = frozenset(read - called)

    def at(self, sizes: Mapping[str, Any]) -> Any:
        """Return the value at a point of the sweep."""
        missing = sorted(self.names - set(sizes))
        if missing:
            known = ", ".join(sizes) or "none"
            raise definition_error(
                f"{self._what} reads {missing[0]}, which is not a size",
                shown=excerpt(self.text, 0, max(self.text.find(missing[0]), 0), len(missing[0])),
                remedy=f"The sizes are: {known}.",
            )
        try:
            return _value(self._tree.body, sizes)
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise definition_error(
                f"{self._what} cannot be computed at {dict(sizes)}: {error}", shown=excerpt(self.text, 0), remedy=_FORM
            ) from None


@functools.lru_cache(maxsize=256)
def _parse(text: str, what: str) -> ast.Expression:
    try:
        if len(text) > LONGEST_TEXT:
            raise ValueError(f"longer than {LONGEST_TEXT} characters")
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise definition_error(
            f"{what} is not an expression: {reason}", shown=excerpt(text[:LONGEST_TEXT], 0), remedy=_FORM
        ) from None
    for node in ast.walk(tree):
        if not _is_allowed(node):
            column = getattr(node, "col_offset", 0)
            raise definition_error(
                f"{what} has something other than arithmetic in it", shown=excerpt(text, 0, column), remedy=_FORM
            )
    return tree


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _is_allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool | int | float | str)
    allowed = (ast.Expression, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Tuple)
    return isinstance(node, (*allowed, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)) and not isinstance(
        node,
        ast.MatMult | ast.LShift | ast.RShift | ast.BitOr | ast.BitXor | ast.BitAnd | ast.Invert | ast.Is | ast.IsNot,
    )


def _value(node: ast.expr, sizes: Mapping[str, Any]) -> Any:
    return _NODES[type(node)](node, sizes)


def _unary(node: Any, sizes: Mapping[str, Any]) -> Any:
    value = _value(node.operand, sizes)
    return not value if isinstance(node.op, ast.Not) else -value if isinstance(node.op, ast.USub) else +value


def _combined(node: Any, sizes: Mapping[str, Any]) -> bool:
    values = (bool(_value(each, sizes)) for each in node.values)
    return all(values) if isinstance(node.op, ast.And) else any(values)


def _computed(node: Any, sizes: Mapping[str, Any]) -> Any:
    left, right = _value(node.left, sizes), _value(node.right, sizes)
    if not all(isinstance(each, int | float) for each in (left, right)):
        raise TypeError("arithmetic needs numbers")
    if isinstance(node.op, ast.Pow) and abs(right) > LARGEST_EXPONENT:
        raise ValueError(f"the exponent {right} is too large")
    if isinstance(node.op, ast.Pow) and isinstance(left, int) and left.bit_length() * abs(right) > MOST_BITS:
        raise ValueError("the power is too large")
    return _BINARY[type(node.op)](left, right)


def _compared(node: Any, sizes: Mapping[str, Any]) -> bool:
    left = _value(node.left, sizes)
    for operation, comparator in zip(node.ops, node.comparators, strict=True):
        right = _value(comparator, sizes)
        if not _COMPARISONS[type(operation)](left, right):
            return False
        left = right
    return True


_NODES: dict[type, Callable[[Any, Mapping[str, Any]], Any]] = {
    ast.Constant: lambda node, sizes: node.value,
    ast.Name: lambda node, sizes: sizes[node.id],
    ast.Tuple: lambda node, sizes: tuple(_value(each, sizes) for each in node.elts),
    ast.UnaryOp: _unary,
    ast.BoolOp: _combined,
    ast.BinOp: _computed,
    ast.Compare: _compared,
    ast.Call: lambda node, sizes: _FUNCTIONS[node.func.id](*(_value(each, sizes) for each in node.args)),
}
