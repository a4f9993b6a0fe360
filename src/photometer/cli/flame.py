"""`photometer flame SUITE -k CASE` and `photometer flame STMT`: where the time of a case or of a statement goes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.code_options import Setup, check_syntax, joined, make_own_code_importable, read_code, read_setup
from photometer.cli.exit_codes import ExitCode
from photometer.cli.measuring_options import Python, Seed
from photometer.cli.option_values import LEFT_OUT, seconds
from photometer.cli.output_options import folder_option
from photometer.cli.printing import complain, say_aside, show_text
from photometer.cli.suite_options import Expression, OneSuite, Tags, Timeout, chosen_suite, saying_selection
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.definition.suite import Suite

# Each takes seconds; a whole suite by mistake would take an hour.
MOST_CASES = 24
NOTHING_SELECTED = "nothing is selected; `photometer list` shows the labels"


def register(app: typer.Typer) -> None:
    app.command("flame", help="Draw flame graphs of a suite's cases, or of a statement (needs py-spy).")(flame)


def flame(
    subject: Annotated[
        str | None, typer.Argument(metavar="SUITE|STMT", help="A suite (see `photometer list`), or code, or @FILE.")
    ] = None,
    suite: OneSuite = None,
    expression: Expression = None,
    tags: Tags = None,
    output: Annotated[Path, folder_option("Folder for the SVG files.")] = Path(),
    duration: Annotated[
        float, typer.Option("--duration", metavar="S", min=1.0, callback=seconds, help="Seconds to record each case.")
    ] = 3.0,
    native: Annotated[
        bool, typer.Option("--native/--no-native", help="Show C++ frames as well as Python frames.")
    ] = True,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Draw a graph of instruction counts, too (needs Valgrind).")
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="[NAME]",
            help="Draw a timeline of one run on host and accelerators instead; NAME selects variants on that device.",
        ),
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="Write a PNG of each, too (needs Chromium or Chrome).")] = False,
    setup: Setup = "pass",
    python: Python = None,
    seed: Seed = None,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
) -> None:
    if subject is not None and suite is not None:
        raise typer.BadParameter("give a statement, or a suite; not both")
    is_suite = subject is None or names_a_suite(subject)
    chosen = chosen_suite(subject or suite, tags) if is_suite else None
    folders = make_own_code_importable([] if chosen is None else chosen.names)
    if is_suite and setup != "pass":
        raise typer.BadParameter("--setup is for a statement; a suite has its own")
    if device is not None and (instructions or png):
        raise typer.BadParameter("--device draws only timelines; leave --instructions and --png out")
    devices = ("cpu",) if device is None else None
    if device not in (None, LEFT_OUT):
        expression = device if expression is None else f"({expression}) and {device}"
    if chosen is None:
        drawn = _suite_of(subject or "", setup)
    else:
        drawn = _checked(chosen.only, expression, chosen.tags, devices)
    from photometer.execution.profile import ProfileSettings
    from photometer.flames import draw_suite
    from photometer.instruments.py_spy import find_py_spy
    from photometer.model.machine import Environment

    if device is None:
        find_py_spy()
    files = draw_suite(
        drawn,
        output,
        expression=expression,
        tags=() if chosen is None else chosen.tags,
        settings=ProfileSettings(device is None, instructions, duration, native, device is not None),
        environment=None if python is None else Environment(python, importable=folders),
        seed=seed,
        timeout=timeout,
        pictures=png,
        on_work=lambda title: say_aside(f"recording {title}") if sys.stderr.isatty() else None,
    )
    for path in files.files:
        show_text(str(path))
    for problem in files.problems:
        complain(problem)
    if not files.files:
        if not files.problems:
            complain(NOTHING_SELECTED)
        raise typer.Exit(ExitCode.FAILED if files.problems else ExitCode.NOTHING_RAN)
    raise typer.Exit(ExitCode.FAILED if files.problems else ExitCode.FINE)


def names_a_suite(subject: str) -> bool:
    """Return whether it is a shipped suite, a file of Python or `package.module:NAME`; anything else is a statement."""
    if subject.startswith("@"):
        return False
    from photometer.definition.loading import shipped_suites

    module, colon, name = subject.rpartition(":")
    named = bool(colon) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))
    in_file = subject.endswith(".py") or (bool(colon) and module.endswith(".py"))
    return subject in shipped_suites() or in_file or named


def _checked(subject: str, expression: str | None, tags: list[str], devices: tuple[str, ...] | None) -> Suite:
    from photometer.definition import load_suite
    from photometer.plan import materialize, select

    suite = load_suite(subject)
    planned = materialize(suite, available_devices=devices)
    selected = select(planned, expression, tags)
    saying_selection(expression, tags)(planned, selected)
    cases = len(selected)
    if not cases:
        complain(NOTHING_SELECTED)
        raise typer.Exit(ExitCode.NOTHING_RAN)
    if cases > MOST_CASES:
        raise typer.BadParameter(
            f"{cases} cases are selected, at about ten seconds each; choose fewer with -k or --tag"
        )
    return suite


def _suite_of(statement: str, setup: str) -> Suite:
    from photometer.definition.suite import Suite
    from photometer.definition.timer_args import TimerArgs

    code = read_code(statement)
    check_syntax([code], read_setup(setup))
    benchmark = TimerArgs(code.stmt, joined(read_setup(setup), code.setup))
    return Suite.from_benchmarks({"statement": benchmark}, name="statement")
