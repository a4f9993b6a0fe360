"""Options of a sweep that several subcommands take alike: -L name=1,2,4 and --where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from photometer.definition.axes import SweepAxis

Axes = Annotated[
    list[str] | None,
    typer.Option(
        "-L",
        metavar="NAME=VALUES",
        help="Sizes to measure at: n=64,256 or n=16..4096*2 or n=100..500+100; repeat for every combination.",
    ),
]
Where = Annotated[
    str | None, typer.Option("--where", metavar="EXPR", help="Only at sizes for which this holds, as n*m <= 4096.")
]


def chosen_axes(texts: list[str] | None) -> tuple[SweepAxis, ...]:
    """Return the axes that the command line names."""
    if not texts:
        return ()
    from photometer.definition.axes import parse_axes

    return parse_axes(texts)
