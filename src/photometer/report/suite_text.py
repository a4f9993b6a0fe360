"""The tree of a suite's labels as text for a terminal, with the number of variants below each.

In: a TreeNode. Out: one string. Written by hand because a rich.Tree of twenty thousand labels takes many seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from photometer.model.visible_text import visible_line
from photometer.plan.work_order import TreeNode

_BOLD, _DIM, _PLAIN = "\033[1m", "\033[2m", "\033[0m"


def render_suite_tree(root: TreeNode, fingerprint: str, *, variants: bool = False, colour: bool = False) -> str:
    """Return one line per label and, with `variants`, per work order."""
    bold, dim, plain = (_BOLD, _DIM, _PLAIN) if colour else ("", "", "")
    count = "1 variant" if root.variants == 1 else f"{root.variants} variants"
    head = f"{bold}{visible_line(root.name)}{plain}  {count}, fingerprint {fingerprint}"
    return "\n".join([head, *_lines_below(root, "", variants, dim, plain)]) + "\n"


def _lines_below(node: TreeNode, indent: str, variants: bool, dim: str, plain: str) -> Iterator[str]:
    orders = node.orders if variants else ()
    last = len(orders) + len(node.children) - 1
    for i, order in enumerate(orders):
        words = ", ".join(str(value) for value in order.auto.as_dict().values())
        yield f"{indent}{'└── ' if i == last else '├── '}{dim}{visible_line(words)}{plain}"
    for i, child in enumerate(node.children, start=len(orders)):
        yield f"{indent}{'└── ' if i == last else '├── '}{visible_line(child.name)}{dim}  {child.variants}{plain}"
        below = indent + ("    " if i == last else "│   ")
        yield from _lines_below(child, below, variants, dim, plain)
