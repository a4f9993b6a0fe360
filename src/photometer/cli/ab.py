"""`photometer ab STMT STMT…`: which is faster? Statements compared side by side, the first is the reference."""

from __future__ import annotations

import dataclasses
import enum
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.ab_output import (
    MARKDOWN_WIDTH,
    counts_text,
    memory_text,
    ranking_json,
    ranking_lines,
    ranking_markdown,
    terminal_width,
)
from photometer.cli.code_options import GlobalSetup, NumThreads, Setup, joined, read_code, read_setup
from photometer.cli.exit_codes import ExitCode
from photometer.cli.measuring_options import Device, JsonFormat, Limit, Memory
from photometer.cli.numbers import margin_share, seconds
from photometer.cli.own_code import make_own_code_importable
from photometer.cli.printing import say_aside, show_rendered
from photometer.cli.store_option import WriteStore, store_of, store_to_write
from photometer.cli.sweep_options import Axes, Where, chosen_points, show_point, show_summaries, sizes_code
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.analysis.ranking import Ranking
    from photometer.comparing.ab_findings import AbFindings
    from photometer.comparing.statements import AbRequest


class Format(str, enum.Enum):
    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"


class FailOn(str, enum.Enum):
    SLOWER = "slower"
    UNDECIDED = "undecided"
    NEVER = "never"


class LanguageName(str, enum.Enum):
    PYTHON = "python"
    CPP = "cpp"


# Of several points of a sweep, the worst counts.
_SEVERITY = (ExitCode.FINE, ExitCode.UNDECIDED, ExitCode.SLOWER)

EPILOG = "Exit status: 0, or with --fail-on 3 (slower) and 4 (undecided); 1 something failed, 2 usage."


def register(app: typer.Typer) -> None:
    app.command("ab", help="Compare statements side by side: which is faster, and by how much?", epilog=EPILOG)(ab)


def ab(
    statements: Annotated[
        list[str], typer.Argument(metavar="STMT STMT…", help="Code to compare, or @FILE. The first is the reference.")
    ],
    setup: Setup = "pass",
    setup_b: Annotated[
        str | None,
        typer.Option(
            "--setup-b", metavar="CODE", help="Setup of the second of two statements, if it differs, or @FILE."
        ),
    ] = None,
    language: Annotated[
        LanguageName, typer.Option("--language", help="Language of the statements.")
    ] = LanguageName.PYTHON,
    global_setup: GlobalSetup = "",
    num_threads: NumThreads = 1,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="S",
            callback=seconds,
            help="Most seconds to measure (default: 10 per statement after the first).",
        ),
    ] = None,
    limit: Limit = None,
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin",
            metavar="P",
            callback=margin_share,
            help="Relative change that does not matter (default: 0.003; 0.02 with several threads).",
        ),
    ] = None,
    device: Device = False,
    cold: Annotated[bool, typer.Option("--cold", help="Flush the cache of the device before each run.")] = False,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions", help="Count instructions, too, and show the functions that differ (needs Valgrind)."
        ),
    ] = False,
    memory: Memory = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the results to this file.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.TERMINAL,
    as_json: JsonFormat = False,
    axes: Axes = None,
    where: Where = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="What makes the exit status other than 0.")
    ] = FailOn.NEVER,
    store: WriteStore = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress.")] = False,
) -> None:
    began = time.monotonic()
    if cold and not device:
        raise typer.BadParameter("--cold flushes the cache of a device; give --device too")
    if device and instructions:
        raise typer.BadParameter("--instructions counts those of the host; leave --device out")
    format = Format.JSON if as_json else format  # noqa: A001 - the name of the option
    make_own_code_importable()
    points = chosen_points(axes, where)
    if len(points) > 1 and output is not None:
        raise typer.BadParameter(
            "-o keeps one comparison; leave -L out, or use a suite with sizes= and `photometer run`"
        )
    place = store_to_write(store_of(store))
    if len(points) > 1 and format is Format.CSV:
        raise typer.BadParameter("-f csv has one comparison; leave -L out, or choose -f json, one document per point")
    rankings = []
    for point in points:
        sizes = sizes_code(point, language.value)
        request = _request(
            statements,
            joined(sizes, read_setup(setup)),
            None if setup_b is None else joined(sizes, read_setup(setup_b)),
            language.value,
            read_setup(global_setup),
            num_threads,
            {"budget": budget, "limit": limit, "margin": margin},
            began=began,
            on_device=device,
            cold=cold,
        )
        found = _measured(request, instructions=instructions, memory=memory, quiet=quiet)
        if output is not None:
            found.write(output)
            say_aside(f"Results: {output}")
        if place is not None:
            found.store(place)
        if format in (Format.TERMINAL, Format.MARKDOWN):
            show_point(point)
        _print(found, format, dict(point))
        rankings.append(found.ranking)
    if len(points) > 1 and format is Format.TERMINAL:
        show_summaries(points, rankings)
    raise typer.Exit(max((exit_code(ranking, fail_on) for ranking in rankings), key=_SEVERITY.index))


def _request(
    statements: list[str],
    setup: str,
    setup_b: str | None,
    language: str,
    global_setup: str,
    num_threads: int,
    stopping: dict[str, float | None],
    *,
    began: float,
    on_device: bool,
    cold: bool,
) -> AbRequest:
    """Return what the options say, checked."""
    from photometer.comparing.contenders import FEWEST, MOST, Contender, with_unique_names
    from photometer.comparing.device_statements import ANY, DeviceSettings
    from photometer.comparing.many import Stopping
    from photometer.comparing.statements import AbRequest, criteria_for, default_budget
    from photometer.model.language import Language
    from photometer.statement_arguments import tidy

    if not FEWEST <= len(statements) <= MOST:
        raise typer.BadParameter(f"give {FEWEST} to {MOST} statements, not {len(statements)}")
    if setup_b is not None and len(statements) != FEWEST:
        raise typer.BadParameter(f"--setup-b is the second of two statements' own; there are {len(statements)}")
    contenders = []
    for place, argument in enumerate(statements):
        code = read_code(argument)
        shared = setup_b if setup_b is not None and place == 1 else setup
        contenders.append(Contender(code.name or tidy(code.stmt), tidy(code.stmt), tidy(joined(shared, code.setup))))
    budget = stopping["budget"] or default_budget(len(contenders), ANY if on_device else None)
    return AbRequest(
        with_unique_names(contenders),
        Stopping(budget, stopping["limit"], criteria_for(stopping["margin"], num_threads), began),
        Language.parse(language),
        global_setup,
        num_threads,
        DeviceSettings(ANY, cold) if on_device else None,
    )


def _measured(request: AbRequest, *, instructions: bool, memory: bool, quiet: bool) -> AbFindings:
    from photometer.cli.ab_progress import ab_progress
    from photometer.comparing.ab_findings import AbFindings
    from photometer.comparing.statements import compare

    if instructions:
        from photometer.session.valgrind import find_valgrind

        # Known before anything is measured.
        find_valgrind()
    with ab_progress(request.stopping.budget, quiet=quiet) as observer:
        found = AbFindings(request, compare(request, on_look=observer.look))
        if instructions:
            from photometer.comparing.statement_counts import count_statements

            observer.stage("counting instructions")
            found = dataclasses.replace(found, counted=tuple(count_statements(request)))
        if memory:
            from photometer.comparing.statement_memory import measure_memories

            observer.stage("measuring memory")
            found = dataclasses.replace(found, memories=tuple(measure_memories(request)))
    return found


def _print(found: AbFindings, format: Format, sizes: Mapping[str, object]) -> None:
    if format is Format.JSON:
        counts = [to_record(each.counts) for each in found.counted]
        memory = [to_record(each) for each in found.memories]
        show_rendered(ranking_json(found.ranking, sizes=sizes, instructions=counts, memory=memory))
    elif format is Format.CSV:
        from photometer.report.ranking_text import render_ranking_csv

        show_rendered(render_ranking_csv(found.ranking))
    elif format is Format.MARKDOWN:
        show_rendered(ranking_markdown(found.ranking, _beside(found, MARKDOWN_WIDTH)))
    else:
        from photometer.tables import shows_colour

        show_rendered(ranking_lines(found.ranking, _beside(found, terminal_width()), colour=shows_colour()))


def _beside(found: AbFindings, width: int) -> list[str]:
    """Return what was measured beside the time: instructions, memory."""
    texts = [counts_text(found.counted, width)] if found.counted else []
    return texts + ([memory_text(found.memories, width)] if found.memories else [])


def exit_code(ranking: Ranking, fail_on: FailOn) -> ExitCode:
    """Return 0 unless --fail-on asks for more: ab is a question, not a gate."""
    words = {statement.verdict.verdict for statement in ranking if statement.verdict is not None}
    if fail_on is not FailOn.NEVER and "slower" in words:
        return ExitCode.SLOWER
    if fail_on is FailOn.UNDECIDED and "undecided" in words:
        return ExitCode.UNDECIDED
    return ExitCode.FINE
