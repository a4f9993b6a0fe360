"""`photometer ab STMT STMT…`: which is faster? Statements compared side by side, the first is the reference."""

from __future__ import annotations

import enum
import json
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.code_options import GlobalSetup, NumThreads, Setup, joined, read_code, read_setup
from photometer.cli.exit_codes import ExitCode
from photometer.cli.measuring_options import JsonFormat, Limit
from photometer.cli.numbers import margin_share, seconds
from photometer.cli.own_code import make_own_code_importable
from photometer.cli.printing import say_aside, show_rendered
from photometer.cli.store_option import WriteStore, store_to_write
from photometer.cli.sweep_options import Axes, Where, chosen_points, show_point, show_summaries, sizes_code
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.analysis.ranking import Ranking
    from photometer.comparing.statement_counts import StatementCount
    from photometer.comparing.statements import AbRequest
    from photometer.model.results_format import Recordable


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
    device: Annotated[bool, typer.Option("--device", help="Measure device time on the accelerator.")] = False,
    cold: Annotated[bool, typer.Option("--cold", help="Flush the cache of the device before each run.")] = False,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions", help="Count instructions, too, and show the functions that differ (needs Valgrind)."
        ),
    ] = False,
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
    place = store_to_write(store)
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
            on_device=device,
            cold=cold,
        )
        ranking, counted = _measured(request, instructions, quiet)
        if output is not None:
            _write(output, request, ranking, counted)
        if place is not None:
            _store(place, request, ranking, counted)
        if format in (Format.TERMINAL, Format.MARKDOWN):
            show_point(point)
        _print(ranking, counted, format, dict(point))
        rankings.append(ranking)
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
    on_device: bool,
    cold: bool,
) -> AbRequest:
    """Return what the options say, checked."""
    from photometer.comparing.contenders import FEWEST, MOST, Contender, told_apart
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
        told_apart(contenders),
        Stopping(budget, stopping["limit"], criteria_for(stopping["margin"], num_threads)),
        Language.parse(language),
        global_setup,
        num_threads,
        DeviceSettings(ANY, cold) if on_device else None,
    )


def _measured(request: AbRequest, instructions: bool, quiet: bool) -> tuple[Ranking, list[StatementCount]]:
    from photometer.comparing.statement_counts import count_statements
    from photometer.comparing.statements import compare

    if instructions:
        from photometer.session.valgrind import find_valgrind

        # Known before anything is measured.
        find_valgrind()
    from photometer.cli.ab_progress import ab_progress

    with ab_progress(request.stopping.budget, quiet=quiet) as observer:
        ranking = compare(request, on_look=observer.look)
        if not instructions:
            return ranking, []
        observer.stage("counting instructions")
        return ranking, count_statements(request)


def _print(
    ranking: Ranking, counted: list[StatementCount], format: Format, sizes: Mapping[str, object] | None = None
) -> None:
    from photometer.report import ranking_text

    if format is Format.JSON:
        record = {**to_record(ranking), **({"sizes": sizes} if sizes else {})}
        if counted:
            record["instructions"] = [to_record(each.counts) for each in counted]
        show_rendered(json.dumps(record, indent=2) + "\n")
    elif format is Format.CSV:
        show_rendered(ranking_text.render_ranking_csv(ranking))
    elif format is Format.MARKDOWN:
        show_rendered(ranking_text.render_ranking_markdown(ranking))
        if counted:
            show_rendered("\n```text\n" + counts_text(counted, 100) + "```\n")
    else:
        from photometer.tables import shows_colour

        width = shutil.get_terminal_size((100, 24)).columns
        show_rendered(ranking_text.render_ranking(ranking, width, colour=shows_colour()))
        if counted:
            show_rendered("\n" + counts_text(counted, width))


def counts_text(counted: list[StatementCount], width: int) -> str:
    """Return the figures of all statements, and how each differs from the first."""
    from photometer.report.instructions_text import render_counts, render_difference
    from photometer.report.ranking_text import shown_name

    first, *others = counted
    parts = [render_counts([each.counts for each in counted], width)]
    for other in others:
        title = shown_name(other.counts.task_spec.title)
        if other.is_identical:
            parts.append(f"{title} executes the same instructions as the first, function by function.")
            continue
        parts.append(f"{title} against the first, in instructions per run:")
        parts.append(render_difference(first.functions, other.functions, first.counts.number_per_run, width))
    return "\n\n".join(parts) + "\n"


def _header(request: AbRequest) -> dict[str, dict[str, object]]:
    """Return what a results file of this comparison says at its head."""
    return {
        "ab": {
            "id": uuid.uuid4().hex,
            "statements": [contender.stmt for contender in request.contenders],
            "setups": [contender.setup for contender in request.contenders],
            "language": request.language.name.lower(),
            "num_threads": request.num_threads,
        }
    }


def _store(place: str, request: AbRequest, ranking: Ranking, counted: list[StatementCount]) -> None:
    from photometer.history.statements import store_ab
    from photometer.instruments.machine_facts import gather_machine
    from photometer.model.results_format import make_header

    records = [to_record(ranking), *(to_record(each.counts) for each in counted)]
    store_ab(place, make_header(gather_machine(), _header(request)), records)


def _write(path: Path, request: AbRequest, ranking: Ranking, counted: list[StatementCount]) -> None:
    from photometer.instruments.machine_facts import gather_machine
    from photometer.model.results_file import ResultsFile

    records: list[Recordable] = [ranking, *(each.counts for each in counted)]
    ResultsFile.create(path, _header(request), machine=gather_machine(), records=records, overwrite=True)
    say_aside(f"Results: {path}")


def exit_code(ranking: Ranking, fail_on: FailOn) -> ExitCode:
    """Return 0 unless --fail-on asks for more: ab is a question, not a gate."""
    words = {statement.verdict.verdict for statement in ranking if statement.verdict is not None}
    if fail_on is not FailOn.NEVER and "slower" in words:
        return ExitCode.SLOWER
    if fail_on is FailOn.UNDECIDED and "undecided" in words:
        return ExitCode.UNDECIDED
    return ExitCode.FINE
