"""Arguments that several subcommands take alike: which suites, which of their variants, on which cores, how long."""

from __future__ import annotations

from typing import Annotated

import typer

from photometer.cli.numbers import seconds

Suites = Annotated[
    list[str], typer.Argument(metavar="SUITE…", help="A file with BENCHMARKS, module:NAME, or standard, overrides.")
]
Expression = Annotated[
    str | None, typer.Option("-k", metavar="EXPR", help="Words of labels with and, or, not, parentheses.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only this tag; repeat for more.")]
Cores = Annotated[str | None, typer.Option("--cores", metavar="LIST", help="Use these alone, as 0,2-5.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="S", callback=seconds, help="Give a variant up after so many seconds.")
]
