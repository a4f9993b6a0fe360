"""`photometer compare BASE BRANCH --suite SUITE`: did the branch make it slower? Exit code 3 if it did."""

from __future__ import annotations

import contextlib
import enum
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.attachment import Attachment, Flames
from photometer.cli.exit_codes import ExitCode
from photometer.cli.suite_options import Expression, Tags

if TYPE_CHECKING:
    from photometer.analysis.comparison_result import EnvironmentComparison
    from photometer.comparing import Calibration


class Format(str, enum.Enum):
    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JSON = "json"


MARKDOWN_NAME = "comparison.md"
_EXIT = {
    "slower": ExitCode.SLOWER,
    "failed": ExitCode.FAILED,
    "undecided": ExitCode.UNDECIDED,
    "fine": ExitCode.FINE,
    "nothing": ExitCode.NOTHING_RAN,
}


def register(app: typer.Typer) -> None:
    app.command("compare", help="Compare two environments: did the branch make it slower?")(compare)


def compare(
    base: Annotated[
        str,
        typer.Argument(
            metavar="BASE",
            help="current, an interpreter or venv, git:REV, git:merge-base:BRANCH, git:WORKTREE, env:NAME=VALUE, "
            "path:DIR, or a results file; several joined by ' + '.",
        ),
    ],
    branch: Annotated[str | None, typer.Argument(metavar="BRANCH", help="What is compared with it, likewise.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="A file with BENCHMARKS, module:NAME, standard.")] = None,
    expression: Expression = None,
    tags: Tags = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Keep all samples and the report here.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="S", help="Seconds of measuring in all; else 10 a benchmark.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option("--margin", metavar="P", help="Changes below are no change; 0.003 is 0.3 %.")
    ] = None,
    fdr: Annotated[
        float | None, typer.Option("--fdr", metavar="P", help="Share of false ones among slower and faster; 0.05.")
    ] = None,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions/--no-instructions", help="Count instructions of both sides, if Valgrind is there."
        ),
    ] = True,
    layouts: Annotated[
        int | None, typer.Option("--layouts", metavar="N", min=1, help="Memory layouts in which what changed is tried.")
    ] = None,
    install: Annotated[
        str | None, typer.Option("--install", metavar="CMD", help="Installs a git revision into a fresh environment.")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Compare BASE with itself: this machine's false-alarm rate.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the comparison in -o DIR.")] = False,
    flame: Annotated[
        Flames, typer.Option("--flame", help="Of which cases flame graphs go into DIR and its bundle.")
    ] = Flames.SLOWER,
    format: Annotated[Format, typer.Option("--format", "-f", help="Of what is printed.")] = Format.TERMINAL,
) -> None:
    if resume and output is None:
        raise typer.BadParameter("--resume continues what is in -o DIR; give that folder")
    if calibrate:
        with _ending_on_sigterm():
            _calibrate(base, suite, expression, tags or [], budget, margin, install)
        return
    if branch is None:
        raise typer.BadParameter("give BASE and BRANCH (one alone is for --calibrate)")
    from photometer.cli.comparison_progress import progress
    from photometer.comparing import compare_environments

    attachment = Attachment(output, flame, instructions)
    given = {"margin": margin, "fdr": fdr, "layouts": layouts}
    with _ending_on_sigterm(), progress() as observer:
        comparison = compare_environments(
            base,
            branch,
            suite,
            expression=expression,
            tags=tags or (),
            budget=budget,
            instructions=instructions,
            install=install,
            output=output,
            resume=resume,
            observer=observer,
            afterwards=attachment.draw,
            **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
        )
    _print(comparison, format)
    if output is not None and comparison.outcome != "nothing":
        _write_markdown(comparison, output)
        attachment.write()
    raise typer.Exit(_EXIT[comparison.outcome])


def _print(comparison: EnvironmentComparison, format: Format) -> None:
    from photometer.report.escape import encodable
    from photometer.report.verdict_text import render_verdicts, render_verdicts_markdown

    if format is Format.JSON:
        text = json.dumps([result.to_json() for result in comparison], indent=2) + "\n"
    elif format is Format.MARKDOWN:
        text = render_verdicts_markdown(comparison)
    else:
        import shutil

        from photometer.tables import shows_colour

        text = render_verdicts(comparison, shutil.get_terminal_size((100, 24)).columns, colour=shows_colour())
    sys.stdout.write(encodable(text, sys.stdout.encoding))


def _write_markdown(comparison: EnvironmentComparison, folder: Path) -> None:
    from photometer.errors import ResultsFileError
    from photometer.report.verdict_text import render_verdicts_markdown

    path = folder / MARKDOWN_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(render_verdicts_markdown(comparison), encoding="utf-8")
    except OSError as error:
        raise ResultsFileError(
            f"{path}: cannot be written: {error.strerror or error}", remedy="Name another folder."
        ) from error


def _calibrate(
    base: str,
    suite: str | None,
    expression: str | None,
    tags: list[str],
    budget: float | None,
    margin: float | None,
    install: str | None,
) -> None:
    if suite is None:
        raise typer.BadParameter("--calibrate needs --suite SUITE")
    from photometer.cli.comparison_progress import progress
    from photometer.comparing import calibrate_environment

    given = {"budget": budget, "margin": margin}
    with progress() as observer:
        calibration = calibrate_environment(
            base,
            suite,
            expression=expression,
            tags=tags,
            install=install,
            observer=observer,
            **{name: value for name, value in given.items() if value is not None},
        )
    typer.echo(_calibration_text(calibration))


def _calibration_text(calibration: Calibration) -> str:
    rate = calibration.rate
    return (
        f"{rate.alarms} false alarms in {rate.comparisons} comparisons of identical sides: "
        f"{100 * rate.rate:.1f} % (95 % interval {100 * rate.interval[0]:.1f} to {100 * rate.interval[1]:.1f} %)\n"
        f"{calibration.same} same, {calibration.undecided} undecided, {calibration.measuring_seconds:.0f} s measured; "
        f"replicates scatter by {100 * calibration.replicate_spread:.2f} %"
    )


@contextlib.contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """A service manager's or CI's way to stop us: leave as after Ctrl-C, so that worktrees and servers are removed."""

    def leave(number: int, frame: FrameType | None) -> None:
        # `timeout` and some CI runners send it twice: the second must not stop the tidying.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
