"""`photometer list SUITE…`: the tree of a suite with the number of variants below each label; nothing is run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.exit_codes import ExitCode
from photometer.cli.suite_options import Expression, Suites, Tags
from photometer.model.records import to_record

if TYPE_CHECKING:
    from rich.tree import Tree

    from photometer.plan.work_order import TreeNode, WorkOrders


def register(app: typer.Typer) -> None:
    app.command("list", help="Show the tree of a suite and the number of its variants.")(list_suites)


def list_suites(
    suites: Suites,
    expression: Expression = None,
    tags: Tags = None,
    variants: Annotated[bool, typer.Option("--variants", help="List every variant, not only their number.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The work orders as JSON, a line each.")] = False,
) -> None:
    from photometer.definition import load_suite
    from photometer.plan import materialize, select

    plans = [select(materialize(load_suite(suite)), expression, tags or ()) for suite in suites]
    for plan in plans:
        if as_json:
            for order in plan:
                typer.echo(json.dumps(to_record(order)))
        else:
            _print_tree(plan, variants)
    if not any(len(plan) for plan in plans):
        typer.echo("photometer: nothing is selected; see the labels without -k and --tag", err=True)
        raise typer.Exit(ExitCode.NOTHING_RAN)


def _print_tree(plan: WorkOrders, variants: bool) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    from photometer.plan.work_order import order_tree

    root = order_tree(plan.suite, plan)
    drawn = Tree(Text.assemble((root.name, "bold"), f"  {_count(root.variants)}, fingerprint {plan.fingerprint}"))
    _add_children(drawn, root, variants)
    Console(soft_wrap=True, highlight=False).print(drawn)


def _add_children(drawn: Tree, node: TreeNode, variants: bool) -> None:
    from rich.text import Text

    if variants:
        for order in node.orders:
            drawn.add(Text(", ".join(str(value) for value in order.auto.as_dict().values()), style="dim"))
    for child in node.children:
        branch = drawn.add(Text.assemble(child.name, (f"  {child.variants}", "dim")))
        _add_children(branch, child, variants)


def _count(variants: int) -> str:
    return "1 variant" if variants == 1 else f"{variants} variants"
