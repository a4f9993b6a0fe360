"""`photometer compare BASE BRANCH --suite SUITE`: did the branch make it slower? Exit code 3 if it did."""

from __future__ import annotations

import enum
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.compare_many import compare_many_sides, sides_of
from photometer.cli.exit_codes import ExitCode
from photometer.cli.numbers import MOST_REPEATS, margin_share, seconds, share
from photometer.cli.printing import complain, say_aside, show_rendered, show_text
from photometer.cli.store_option import WriteStore, hidden, store_to_write
from photometer.cli.suite_options import Expression, Tags
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.analysis.comparison_result import EnvironmentComparison, Outcome
    from photometer.comparing.calibrate import Calibration
    from photometer.comparing.live import LiveComparison
    from photometer.comparing.request import ComparisonRequest
    from photometer.pull_request import Compared


class Flames(str, enum.Enum):
    ALL = "all"
    SLOWER = "slower"
    NONE = "none"


class Timed(str, enum.Enum):
    CHANGED = "changed"
    ALL = "all"
    NONE = "none"


class FailOn(str, enum.Enum):
    SLOWER = "slower"
    UNDECIDED = "undecided"
    MEMORY = "memory"
    NEVER = "never"


class Format(str, enum.Enum):
    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JSON = "json"


EPILOG = (
    "Exit status: 0 nothing is slower, 1 something failed, 2 usage, 3 slower (or allocates more: --fail-on memory), "
    "4 undecided (with --fail-on undecided), 5 nothing ran."
)
MARKDOWN_NAME = "comparison.md"
# A thousand samples per side: frames of 3 % of the time are then known to a fifth.
RECORDED_SECONDS = 5.0
_EXIT = {
    "slower": ExitCode.SLOWER,
    "failed": ExitCode.FAILED,
    "undecided": ExitCode.UNDECIDED,
    "fine": ExitCode.FINE,
    "nothing": ExitCode.NOTHING_RAN,
}


def register(app: typer.Typer) -> None:
    app.command("compare", help="Compare environments: did the branch make it slower?", epilog=EPILOG)(compare)


def compare(
    base: Annotated[
        str | None,
        typer.Argument(
            metavar="BASE",
            help="current, an interpreter or venv, pip:PACKAGES, python:VERSION, git:REV, git:merge-base:BRANCH, "
            "git:WORKTREE, env:NAME=VALUE, path:DIR, or a results file; several joined by ' + '.",
        ),
    ] = None,
    branch: Annotated[str | None, typer.Argument(metavar="BRANCH", help="What is compared with it, likewise.")] = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="MORE…", help="Further sides; all are compared with BASE.")
    ] = None,
    matrix: Annotated[
        list[str] | None,
        typer.Option("--matrix", metavar="VALUES", help='Sides by their values: "torch==2.11.0,2.12.1,2.13.0".'),
    ] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="A file with BENCHMARKS, module:NAME, standard.")] = None,
    expression: Expression = None,
    tags: Tags = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Keep all samples and the report here.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", metavar="S", callback=seconds, help="Seconds of measuring in all; else 10 a benchmark."
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            "--limit", metavar="S", callback=seconds, help="Seconds on the wall for the whole command (default: none)."
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin",
            metavar="[TAG=]P",
            help="Relative change that does not matter, for all or for a tag (default: 0.003, which is 0.3 %).",
        ),
    ] = None,
    fdr: Annotated[
        float | None,
        typer.Option("--fdr", metavar="P", callback=share, help="Share of false ones among slower and faster; 0.05."),
    ] = None,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions/--no-instructions", help="Count instructions of both sides, if Valgrind is there."
        ),
    ] = True,
    layouts: Annotated[
        int | None,
        typer.Option(
            "--layouts",
            metavar="N",
            min=1,
            max=MOST_REPEATS,
            help="Fixed memory layouts in which what changed is tried (default: 1).",
        ),
    ] = None,
    install: Annotated[
        str | None, typer.Option("--install", metavar="CMD", help="Installs a git revision into a fresh environment.")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Compare BASE with itself: this machine's false-alarm rate.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the comparison in -o DIR.")] = False,
    time: Annotated[
        Timed,
        typer.Option("--time", help="What to time in full: what executes other instructions, everything, or nothing."),
    ] = Timed.CHANGED,
    memory: Annotated[
        bool, typer.Option("--memory/--no-memory", help="Measure what one run allocates on both sides.")
    ] = True,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="What makes the exit status other than 0 (see below).")
    ] = FailOn.SLOWER,
    flame: Annotated[
        Flames, typer.Option("--flame", help="Of which cases flame graphs go into DIR and its bundle.")
    ] = Flames.SLOWER,
    store: WriteStore = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Of what is printed.")] = Format.TERMINAL,
) -> None:
    if resume and output is None:
        raise typer.BadParameter("--resume continues what is in -o DIR; give that folder")
    sides = sides_of([side for side in (base, branch, *(more or ())) if side is not None], matrix or [])
    if calibrate and sides:
        _calibrate(sides[0], suite, expression, tags or [], budget, _margins(margin or [])[0], install)
        return
    if len(sides) < 2:
        raise typer.BadParameter("give BASE and BRANCH (one alone is for --calibrate), or --matrix")
    from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE, DEFAULT_MARGIN
    from photometer.comparing.many_environments import ManySidesRequest
    from photometer.comparing.request import DEFAULT_LAYOUTS, ComparisonRequest, ComparisonSettings, plan_suite

    for_all, by_tag = _margins(margin or [])
    settings = ComparisonSettings(
        budget,
        DEFAULT_MARGIN if for_all is None else for_all,
        DEFAULT_FALSE_DISCOVERY_RATE if fdr is None else fdr,
        instructions,
        DEFAULT_LAYOUTS if layouts is None else layouts,
        time.value,
        limit,
        by_tag,
        memory,
    )
    if len(sides) > 2:
        if resume or suite is None:
            raise typer.BadParameter("more than two sides need --suite, and cannot be resumed")
        planned = plan_suite(suite, expression, tags or ())
        found = compare_many_sides(ManySidesRequest(sides, planned, settings, install), output, format.value)
        raise typer.Exit(_exit_code(found.outcome, fail_on))
    place = store_to_write(store)
    first, second = sides
    request = ComparisonRequest(first, second, suite, settings, expression, tags or (), install, output, resume, place)
    comparison, compared = _compare(request, flame, format)
    if output is not None and comparison.outcome != "nothing":
        _write_markdown(comparison, output)
        if compared is not None:
            _attach(compared, output)
    if fail_on is FailOn.MEMORY and comparison.memory_changes("more"):
        raise typer.Exit(ExitCode.SLOWER)
    raise typer.Exit(_exit_code(comparison.outcome, fail_on))


def _margins(values: list[str]) -> tuple[float | None, dict[str, float]]:
    """Return the margin for all, if one is given, and those of tags."""
    for_all, by_tag = None, {}
    for value in values:
        tag, is_by_tag, number = value.rpartition("=")
        try:
            margin = margin_share(float(number))
        except ValueError:
            raise typer.BadParameter(f"{value!r} is no margin: give 0.01 for 1 %, or TAG=0.01") from None
        if is_by_tag:
            by_tag[tag] = margin
        else:
            for_all = margin
    return for_all, by_tag


def _compare(
    request: ComparisonRequest, flame: Flames, format: Format
) -> tuple[EnvironmentComparison, Compared | None]:
    """Print the verdicts, and return them with what a bundle is made of, if both sides were live and kept in a folder.

    On a terminal, the table comes as soon as the verdicts stand, and their causes when they are known.
    """
    from photometer.cli.progress import comparison_progress
    from photometer.comparing.live import LiveComparison
    from photometer.comparing.unpaired import compare_unpaired

    with comparison_progress() as observer:
        if not request.is_live:
            comparison = compare_unpaired(request, observer)
            with observer.aside():
                _print(comparison, format)
            return comparison, None
        printed: list[EnvironmentComparison] = []

        def on_decided(decided: EnvironmentComparison) -> None:
            if format is Format.TERMINAL:
                with observer.aside():
                    _print(decided, format)
                printed.append(decided)

        with LiveComparison(request, observer) as live:
            comparison = live.run(on_decided)
            with observer.aside():
                if printed:
                    _print_causes(comparison, printed[0])
                else:
                    _print(comparison, format)
            compared = None
            if request.output is not None and live.seconds_left() > 0.0:
                observer.stage("drawing flame graphs")
                compared = _draw(live, comparison, request.output, flame)
            return comparison, compared


def _draw(live: LiveComparison, comparison: EnvironmentComparison, folder: Path, which: Flames) -> Compared:
    """Draw flame graphs of what became slower, while both sides can still be started."""
    from photometer.execution.profile import ProfileSettings
    from photometer.pull_request import draw_flames

    return draw_flames(
        live,
        comparison,
        folder,
        which.value,
        settings=ProfileSettings(counted=live.request.settings.instructions, duration_seconds=RECORDED_SECONDS),
        on_work=lambda title: say_aside(f"flame graph, {title}") if sys.stderr.isatty() else None,
    )


def _attach(compared: Compared, folder: Path) -> None:
    from photometer.pull_request import attach

    for problem in compared.flames.problems:
        complain(problem)
    # Of the command as it was typed, only the way to photometer is not to be repeated.
    path = attach(compared, folder, ["photometer", *hidden(sys.argv[1:])])
    say_aside(f"To attach to a pull request: {path}")


def _exit_code(outcome: Outcome, fail_on: FailOn) -> ExitCode:
    """Failures and a run of nothing always show; slower unless never is asked for; undecided only if it is."""
    code = _EXIT[outcome]
    tolerated = {
        FailOn.SLOWER: {ExitCode.UNDECIDED},
        FailOn.MEMORY: {ExitCode.UNDECIDED},
        FailOn.UNDECIDED: set(),
        FailOn.NEVER: {ExitCode.UNDECIDED, ExitCode.SLOWER},
    }[fail_on]
    return ExitCode.FINE if code in tolerated else code


def _print(comparison: EnvironmentComparison, format: Format) -> None:
    from photometer.report.verdict_text import render_verdicts, render_verdicts_markdown

    if format is Format.JSON:
        text = json.dumps([to_record(result) for result in comparison], indent=2) + "\n"
    elif format is Format.MARKDOWN:
        text = render_verdicts_markdown(comparison)
    else:
        import shutil

        from photometer.tables import shows_colour

        text = render_verdicts(comparison, shutil.get_terminal_size((100, 24)).columns, colour=shows_colour())
    show_rendered(text)


def _print_causes(comparison: EnvironmentComparison, printed: EnvironmentComparison) -> None:
    """Print what has become known since the table was printed."""
    import shutil

    from photometer.report.verdict_text import render_causes

    text = render_causes(comparison, printed, shutil.get_terminal_size((100, 24)).columns)
    if text:
        show_rendered(text)


def _write_markdown(comparison: EnvironmentComparison, folder: Path) -> None:
    from photometer.model.whole_file import not_written, write_text_whole
    from photometer.report.verdict_text import render_verdicts_markdown

    path = folder / MARKDOWN_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(path, error, remedy="Name another folder.") from error
    write_text_whole(path, render_verdicts_markdown(comparison))


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
    from photometer.cli.progress import comparison_progress
    from photometer.comparing.calibrate import calibrate_environment

    given = {"budget": budget, "margin": margin}
    with comparison_progress() as observer:
        calibration = calibrate_environment(
            base,
            suite,
            expression=expression,
            tags=tags,
            install=install,
            observer=observer,
            **{name: value for name, value in given.items() if value is not None},
        )
    show_text(_calibration_text(calibration))


def _calibration_text(calibration: Calibration) -> str:
    rate = calibration.rate
    return (
        f"{rate.alarms} false alarms in {rate.comparisons} comparisons of identical sides: "
        f"{100 * rate.rate:.1f} % (95 % interval {100 * rate.interval[0]:.1f} to {100 * rate.interval[1]:.1f} %)\n"
        f"{calibration.same} same, {calibration.undecided} undecided, {calibration.measuring_seconds:.0f} s measured; "
        f"replicates scatter by {100 * calibration.replicate_spread:.2f} %"
    )
