"""`photometer list SUITE…`: the tree of a suite with the number of variants below each label; nothing is run.

The tree is written by hand because a rich.Tree of twenty thousand labels takes many seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.code_options import make_own_code_importable
from photometer.cli.exit_codes import ExitCode
from photometer.cli.output_options import Json, give_lines
from photometer.cli.printing import complain, show_rendered
from photometer.cli.suite_options import (
    Expression,
    MoreSuites,
    Suites,
    Tags,
    chosen_suites,
    saying_notes,
    saying_selection,
)
from photometer.model.records import to_record
from photometer.model.visible_text import visible_line

if TYPE_CHECKING:
    from photometer.plan.work_order import TreeNode, WorkOrders


def register(app: typer.Typer) -> None:
    app.command("list", help="Show the tree of a suite and the number of its variants.")(list_suites)


def list_suites(
    suites: Suites = None,
    more: MoreSuites = None,
    expression: Expression = None,
    tags: Tags = None,
    variants: Annotated[bool, typer.Option("--variants", help="List every variant, not only their number.")] = False,
    json: Json = None,
) -> None:
    chosen = chosen_suites(suites, tags, more)
    make_own_code_importable(chosen.names)
    from photometer.definition import load_suite
    from photometer.plan import materialize, select

    plans = []
    for suite in chosen.names:
        planned = materialize(saying_notes(load_suite(suite)))
        plans.append(select(planned, expression, chosen.tags))
        saying_selection(expression, chosen.tags)(planned, plans[-1])
    if json is not None:
        give_lines(json, (dumps(to_record(order)) for plan in plans for order in plan))
    else:
        for plan in plans:
            _print_tree(plan, variants)
    if not any(len(plan) for plan in plans):
        complain("nothing is selected; leave -k and --tag out to see all labels")
        raise typer.Exit(ExitCode.NOTHING_RAN)


def _print_tree(plan: WorkOrders, variants: bool) -> None:
    from photometer.plan.work_order import order_tree
    from photometer.tables import shows_colour

    root = order_tree(plan.suite, plan)
    show_rendered(render_suite_tree(root, plan.fingerprint, variants=variants, colour=shows_colour()))


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
