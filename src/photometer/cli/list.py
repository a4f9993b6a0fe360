"""`photometer list SUITE…`: the tree of a suite with the number of variants below each label; nothing is run."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.exit_codes import ExitCode
from photometer.cli.output_options import Json, give_lines
from photometer.cli.own_code import make_own_code_importable
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

if TYPE_CHECKING:
    from photometer.plan.work_order import WorkOrders


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
    from photometer.report.suite_text import render_suite_tree
    from photometer.tables import shows_colour

    root = order_tree(plan.suite, plan)
    show_rendered(render_suite_tree(root, plan.fingerprint, variants=variants, colour=shows_colour()))
