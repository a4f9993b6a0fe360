"""`--fail-on recompile,graph-break` of `run` and `compile-report`: which compiled statements break a rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.ci_output import EXIT_OF
from photometer.cli.exit_codes import ExitCode
from photometer.cli.printing import complain

if TYPE_CHECKING:
    from photometer.analysis.gate import Gate
    from photometer.model.compile_report import CompileReport

FailOnCompile = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="RULES",
        help="What makes the exit status 3: recompile, graph-break, or never; several with commas.",
    ),
]


def compile_gate(fail_on: list[str] | None) -> Gate:
    """Return the rules of the option; raise if one of them is about comparisons."""
    from photometer.analysis.gate import Gate
    from photometer.errors import DefinitionError
    from photometer.model.fail_rules import COMPILE_WORDS, parse_rules

    try:
        rules = parse_rules(fail_on or ())
    except DefinitionError as error:
        raise typer.BadParameter(f"--fail-on: {error.message}. {error.remedy}") from None
    for rule in rules:
        if rule.watched not in COMPILE_WORDS:
            raise typer.BadParameter(f"--fail-on {rule}: nothing is compared here; give {', '.join(COMPILE_WORDS)}")
    return Gate(rules)


def exit_status(gate: Gate, reports: Iterable[CompileReport], *, measured: bool, failed: bool) -> ExitCode:
    """Print the broken rules, and return the exit status."""
    judged = gate.judge_compiled(reports, measured=measured, failed=failed)
    for breach in judged.breaches:
        complain(f"{breach.title}: {breach.sentence} (--fail-on {breach.rule})")
    return EXIT_OF[judged.outcome]
