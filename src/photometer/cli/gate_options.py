"""What --fail-on and --margin say, together with the settings of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from photometer.ci.gate import Gate
    from photometer.ci.project import ProjectSettings


def gate_of(fail_on: list[str] | None, project: ProjectSettings, *, instructions: bool, memory: bool) -> Gate:
    """Return the rules of the options, else the project's, else the usual one; what is not measured cannot fail."""
    from photometer.ci.fail_rules import parse_rules
    from photometer.ci.gate import SLOWER, Gate
    from photometer.errors import DefinitionError

    measured = {"slower", "undecided", *(["instructions"] * instructions), *(["memory"] * memory)}
    try:
        rules = parse_rules(fail_on) if fail_on else (SLOWER,) if project.rules is None else project.rules
    except DefinitionError as error:
        raise typer.BadParameter(f"--fail-on: {error.message}. {error.remedy}") from None
    for rule in rules if fail_on else ():
        if rule.watched not in measured:
            raise typer.BadParameter(f"--fail-on {rule}: {rule.watched} is not measured with these sides and options")
    # What the project asks for in general is left out if this comparison does not measure it.
    return Gate(rules, project.thresholds).only(measured)


def margins_of(values: list[str]) -> tuple[float | None, dict[str, float]]:
    """Return the margin for all, if one is given, and those of tags."""
    from photometer.ci.fail_rules import parse_share
    from photometer.errors import DefinitionError

    for_all, by_tag = None, {}
    for value in values:
        tag, is_by_tag, number = value.rpartition("=")
        try:
            margin = parse_share(number)
        except DefinitionError:
            raise typer.BadParameter(f"{value!r} is no margin: give 0.01 or 1%, or TAG=0.01") from None
        if is_by_tag:
            by_tag[tag] = margin
        else:
            for_all = margin
    return for_all, by_tag
