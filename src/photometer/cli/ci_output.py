"""What `compare` writes for a CI system.

In: the rules of --fail-on and --margin, and those of the project. Out: GitHub's summary, annotations and comment,
JUnit's XML, GitLab's metrics.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.exit_codes import ExitCode
from photometer.cli.printing import complain, say_aside, show_rendered, show_text

if TYPE_CHECKING:
    from photometer.analysis.gate import Gate, GateVerdict
    from photometer.ci.github_run import GitHubRun
    from photometer.ci.project import ProjectSettings
    from photometer.ci.review import Review

COMMENT_NAME = "comment.md"
# A terminal shows the first few; the page and the summary show all.
BREACHES_SHOWN = 10
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="RULES",
        help="What makes the command fail: slower, slower:5%, probable, undecided, instructions:1%, "
        "memory:0, memory:64KiB, compile:1%, or never; several with commas.",
    ),
]
EXIT_OF = {
    "slower": ExitCode.SLOWER,
    "broken": ExitCode.SLOWER,
    "failed": ExitCode.FAILED,
    "undecided": ExitCode.UNDECIDED,
    "fine": ExitCode.FINE,
    "nothing": ExitCode.NOTHING_RAN,
}


@dataclasses.dataclass(frozen=True)
class CiFiles:
    """The files that options name."""

    junit: Path | None = None
    metrics: Path | None = None


@contextlib.contextmanager
def commands_held(variables: Mapping[str, str]) -> Iterator[None]:
    """Keep GitHub's runner from obeying lines such as `::error::` in the output: labels, logs of failures.

    The command goes to standard error, so that results in a pipe stay unchanged.
    """
    if variables.get("GITHUB_ACTIONS") != "true":
        yield
        return
    word = secrets.token_hex(16)
    say_aside(f"::stop-commands::{word}")
    try:
        yield
    finally:
        sys.stdout.flush()
        say_aside(f"::{word}::")


def gate_of(
    fail_on: list[str] | None,
    project: ProjectSettings,
    *,
    instructions: bool,
    memory: bool,
    compilation: bool = False,
) -> Gate:
    """Return the rules of the options, else the project's, else the default.

    Figures that are not measured cannot fail.
    """
    from photometer.analysis.gate import SLOWER, Gate
    from photometer.errors import DefinitionError
    from photometer.model.fail_rules import parse_rules

    taken = {"instructions": instructions, "memory": memory, "compile": compilation}
    measured = {"slower", "probable", "undecided", *(name for name, is_taken in taken.items() if is_taken)}
    try:
        rules = parse_rules(fail_on) if fail_on else (SLOWER,) if project.rules is None else project.rules
    except DefinitionError as error:
        raise typer.BadParameter(f"--fail-on: {error.message}. {error.remedy}") from None
    for rule in rules if fail_on else ():
        if rule.watched not in measured:
            raise typer.BadParameter(f"--fail-on {rule}: {rule.watched} is not measured with these sides and options")
    # What the project asks for in general is left out if this comparison does not measure it.
    return Gate(rules, project.thresholds, is_open=bool(fail_on) and not rules).only(measured)


def margins_of(values: list[str]) -> tuple[float | None, dict[str, float]]:
    """Return the margin for all, if one is given, and those of tags."""
    from photometer.errors import DefinitionError
    from photometer.model.fail_rules import parse_share

    for_all, by_tag = None, {}
    for value in values:
        tag, is_by_tag, number = value.rpartition("=")
        try:
            margin = parse_share(number)
        except DefinitionError:
            raise typer.BadParameter(f"{value!r} is not a margin: give 0.01 or 1%, or TAG=0.01") from None
        if is_by_tag and not tag.strip():
            raise typer.BadParameter(f"--margin {value} names no tag: give {number} for all, or TAG={number}")
        if is_by_tag:
            by_tag[tag] = margin
        else:
            for_all = margin
    return for_all, by_tag


def tell_gate(gate: Gate, verdict: GateVerdict, *, any_slower: bool, in_results: bool) -> None:
    """Print which rules are broken, unless the verdicts show it: on standard output with `in_results`, else aside."""
    from photometer.analysis.gate import SLOWER

    say = show_text if in_results else say_aside
    plain = all(breach.rule == str(SLOWER) for breach in verdict.breaches)
    if verdict.breaches and not (plain and gate.rules == (SLOWER,) and not gate.thresholds):
        say("The check fails because of:")
        for breach in verdict.breaches[:BREACHES_SHOWN]:
            say(f"  {breach.title}: {breach.sentence}")
        if len(verdict.breaches) > BREACHES_SHOWN:
            say(f"  and {len(verdict.breaches) - BREACHES_SHOWN} more")
    elif any_slower and verdict.outcome == "fine":
        say("The check passes: the slowdown is within what is allowed.")
    for each in verdict.not_known[:BREACHES_SHOWN]:
        say(f"  {each.title}: {each.sentence}")
    for reason in verdict.unjudged:
        complain(f"a rule could not be applied: {reason}")


def write_for_ci(review: Review, output: Path | None, files: CiFiles, *, for_github: bool) -> None:
    """Write the requested files; with `for_github` also those that GitHub's runner reads."""
    from photometer.model.whole_file import write_text_whole

    if files.junit is not None:
        from photometer.ci.report_files import render_junit

        files.junit.parent.mkdir(parents=True, exist_ok=True)
        write_text_whole(files.junit, render_junit(review))
    if files.metrics is not None:
        from photometer.ci.report_files import render_open_metrics

        files.metrics.parent.mkdir(parents=True, exist_ok=True)
        write_text_whole(files.metrics, render_open_metrics(review.comparison))
    if for_github:
        from photometer.ci.github_run import GitHubRun

        _write_for_github(review, output, GitHubRun.here(os.environ))


def _write_for_github(review: Review, output: Path | None, run: GitHubRun) -> None:
    from photometer.ci.comment_text import render_comment, render_summary
    from photometer.ci.report_files import annotations_of
    from photometer.ci.review import FILE_NAME, write_review
    from photometer.history.repository import Repository
    from photometer.model.whole_file import write_text_whole

    comment = render_comment(review, run.run_url)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_text_whole(output / COMMENT_NAME, comment)
        write_review(output / FILE_NAME, review)
    repository = Repository.find()
    root = Path.cwd() if repository is None else repository.top
    for annotation in annotations_of(review, root):
        show_rendered(annotation.command() + "\n")
    if run.summary_file is None:
        # Not on GitHub: this is what it would show.
        show_rendered("\n" + comment)
    run.add_summary(render_summary(review, run.run_url))
    kept = "" if output is None else str(output / COMMENT_NAME)
    run.set_outputs({"outcome": review.gate.outcome, "answer": comment.splitlines()[1], "comment": kept})
