"""`photometer ab STMT STMT…`: which is faster? Statements compared side by side, the first is the reference."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.ci.project import ProjectSettings
from photometer.ci.project_store import store_of
from photometer.cli.ab_output import (
    MARKDOWN_WIDTH,
    beside_text,
    counts_text,
    memory_text,
    render_ab,
)
from photometer.cli.ci_output import EXIT_OF, FailOn, gate_of, tell_gate
from photometer.cli.code_options import (
    Cpp,
    GlobalSetup,
    NumThreads,
    Setup,
    check_syntax,
    joined,
    make_own_code_importable,
    read_code,
    read_setup,
)
from photometer.cli.exit_codes import ExitCode
from photometer.cli.measuring_options import Device, Limit, LockClocks, Margin, Memory, Ranks, Seed, budget_option
from photometer.cli.option_values import LEFT_OUT
from photometer.cli.output_options import (
    ON_TERMINAL,
    TERMINAL,
    Wanted,
    WriteStore,
    folder_option,
    store_to_write,
    with_formats,
)
from photometer.cli.printing import say_aside, show_rendered, terminal_width
from photometer.cli.suite_options import Timeout
from photometer.cli.sweep_options import Axes, Where, chosen_points, show_point, show_summaries, sizes_code
from photometer.model.fail_rules import NEVER
from photometer.model.records import to_record
from photometer.model.results_folder import RESULT_FILES, check_results_folder, make_results_folder
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.report.tables.formats import JSON, MARKDOWN

if TYPE_CHECKING:
    from photometer.analysis.ranking import Ranking
    from photometer.comparing.ab_findings import AbFindings, AbRequest
    from photometer.definition.sweep import SizePoint
    from photometer.report.tables.formats import Format


# Of several points of a sweep, the worst counts.
_SEVERITY = (ExitCode.FINE, ExitCode.UNDECIDED, ExitCode.FAILED, ExitCode.SLOWER)


def register(app: typer.Typer) -> None:
    app.command("ab", help="Compare statements side by side: which is faster, and by how much?")(with_formats(ab))


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
    cpp: Cpp = False,
    global_setup: GlobalSetup = "",
    num_threads: NumThreads = 1,
    ranks: Ranks = None,
    grad_to_none: Annotated[
        bool,
        typer.Option(
            "--grad-to-none/--no-grad-to-none",
            help="Clear gradients before each backward pass, as training does.",
        ),
    ] = True,
    budget: Annotated[
        float | None, budget_option("Maximum seconds to measure (default: 10 per statement after the first).")
    ] = None,
    limit: Limit = None,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    margin: Margin = None,
    device: Device = None,
    cold: Annotated[bool, typer.Option("--cold", help="Flush the cache of the device before each run.")] = False,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions", help="Count instructions, too, and show the functions that differ (needs Valgrind)."
        ),
    ] = False,
    memory: Memory = False,
    seed: Seed = None,
    lock_clocks: LockClocks = False,
    output: Annotated[Path | None, folder_option("Folder for the results; `show DIR` prints them again.")] = None,
    asked: Wanted = ON_TERMINAL,
    axes: Axes = None,
    where: Where = None,
    fail_on: FailOn = None,
    store: WriteStore = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress.")] = False,
) -> None:
    began = time.monotonic()
    if cold and device is None:
        raise typer.BadParameter("--cold flushes the cache of a device; give --device too")
    if device is not None and instructions:
        raise typer.BadParameter("--instructions counts on the host; leave --device out")
    if device is not None and not cpp and timeout != DEFAULT_TIMEOUT_SECONDS:
        raise typer.BadParameter("on a device, statements run in this process, which --limit ends; leave --timeout out")
    language = "cpp" if cpp else "python"
    if not cpp:
        codes = [read_code(each) for each in statements]
        check_syntax(codes, read_setup(setup))
        check_syntax(codes[1:], read_setup(setup if setup_b is None else setup_b))
    make_own_code_importable()
    points = chosen_points(axes, where)
    _check_places(points, output, asked)
    gate = gate_of(fail_on or [NEVER], ProjectSettings(), instructions=instructions, memory=memory)
    place = store_to_write(store_of(store))
    from photometer.comparing.device_statements import ANY

    requests = []
    for point in points:
        sizes = sizes_code(point, language)
        requests.append(
            _request(
                statements,
                joined(sizes, read_setup(setup)),
                None if setup_b is None else joined(sizes, read_setup(setup_b)),
                language,
                read_setup(global_setup),
                num_threads,
                {"budget": budget, "limit": limit, "margin": margin},
                began=began,
                allowed=gate.allowed_slowdown("ab", None),
                device=ANY if device == LEFT_OUT else device,
                cold=cold,
                seed=seed,
                ranks=ranks or 0,
                grad_to_none=grad_to_none,
                timeout_seconds=timeout,
            )
        )
    rankings, statuses = [], []
    for point, request in zip(points, requests, strict=True):
        found = None
        try:
            for found in _measured(request, instructions=instructions, memory=memory, quiet=quiet):
                _print_latest(found, asked.printed, point)
        except KeyboardInterrupt:
            # What is known is kept before the signal ends the command.
            if found is not None:
                _conclude(found, output, place, asked, point)
            raise
        assert found is not None
        _conclude(found, output, place, asked, point)
        rankings.append(found.ranking)
        judged = gate.judge(found.comparison)
        tell_gate(gate, judged, any_slower=False, in_results=asked.printed is TERMINAL)
        statuses.append(EXIT_OF[judged.outcome])
    if len(points) > 1 and asked.printed is TERMINAL:
        show_summaries(points, rankings)
    raise typer.Exit(max(statuses, key=_SEVERITY.index))


def _check_places(points: Sequence[SizePoint], output: Path | None, asked: Wanted) -> None:
    """Refuse options for a single comparison if there are several, and a folder that cannot be written to."""
    if len(points) > 1 and (output is not None or asked.files):
        raise typer.BadParameter(
            "a file or folder holds one comparison; leave -L out, or use a suite with sizes= and `photometer run`"
        )
    if len(points) > 1 and asked.printed not in (TERMINAL, MARKDOWN, JSON):
        raise typer.BadParameter(
            f"--{asked.printed.name} writes one comparison; leave -L out, or use --json, which writes one document per "
            "point"
        )
    if output is not None:
        check_results_folder(output)


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
    allowed: float | None,
    device: str | None,
    cold: bool,
    seed: int | None,
    ranks: int,
    grad_to_none: bool,
    timeout_seconds: float,
) -> AbRequest:
    """Return the checked request of the options."""
    from photometer.comparing.ab_findings import AbRequest, criteria_for, default_budget
    from photometer.comparing.contenders import FEWEST, MOST, Contender, clearing_gradients, with_unique_names
    from photometer.comparing.device_statements import DeviceSettings
    from photometer.comparing.rank import Stopping
    from photometer.model.task import Language
    from photometer.statement_arguments import tidy

    if not FEWEST <= len(statements) <= MOST:
        raise typer.BadParameter(f"give {FEWEST} to {MOST} statements, not {len(statements)}")
    if setup_b is not None and len(statements) != FEWEST:
        raise typer.BadParameter(f"--setup-b is for the second of two statements; there are {len(statements)}")
    contenders = []
    for place, argument in enumerate(statements):
        code = read_code(argument)
        shared = setup_b if setup_b is not None and place == 1 else setup
        contenders.append(Contender(code.name or tidy(code.stmt), tidy(code.stmt), tidy(joined(shared, code.setup))))
    budget = stopping["budget"] or default_budget(len(contenders), device)
    criteria = criteria_for(stopping["margin"], num_threads * max(ranks, 1))
    chosen = with_unique_names(contenders)
    chosen = clearing_gradients(chosen) if grad_to_none and language == "python" else chosen
    return AbRequest(
        chosen,
        Stopping(budget, stopping["limit"], criteria, began, allowed),
        Language.parse(language),
        global_setup,
        num_threads,
        None if device is None else DeviceSettings(device, cold, seed=seed),
        seed=seed,
        ranks=ranks,
        timeout_seconds=timeout_seconds,
    )


def _measured(request: AbRequest, *, instructions: bool, memory: bool, quiet: bool) -> Iterator[AbFindings]:
    """Yield what is known so far: the verdicts as soon as they are final, then with counts, then with memory.

    If a signal comes before they are final, yield those so far, and then let it go on.
    """
    from photometer.cli.progress import ab_progress
    from photometer.comparing.ab_findings import AbFindings
    from photometer.comparing.statements import open_ab

    with (
        open_ab(request, instructions=instructions, memory=memory) as stages,
        ab_progress(request.stopping.budget, quiet=quiet) as observer,
    ):
        latest: list[Ranking] = []

        def look(ranking: Ranking, spent_seconds: float) -> None:
            latest[:] = [ranking]
            observer.look(ranking, spent_seconds)

        try:
            found = stages.rank(look)
        except KeyboardInterrupt:
            for ranking in latest:
                with observer.aside():
                    yield AbFindings(request, ranking)
            raise
        with observer.aside():
            yield found
        if instructions:
            observer.stage("counting instructions")
            found = stages.count(found)
            with observer.aside():
                yield found
        if memory:
            observer.stage("measuring memory")
            found = stages.measure_memory(found)
            with observer.aside():
                yield found


def _conclude(found: AbFindings, output: Path | None, place: str | None, asked: Wanted, point: SizePoint) -> None:
    """Keep the results, and print the document that has all of them."""
    _keep(found, output, place)
    asked.write(lambda each: _rendered(found, each, dict(point)))
    if asked.printed is JSON:
        show_rendered(_rendered(found, JSON, dict(point)))


def _keep(found: AbFindings, output: Path | None, store: str | None) -> None:
    """Write the results to a file and to a store, if they are given."""
    from photometer.comparing.comparison_file import Destination

    if output is not None or store is not None:
        file = None if output is None else output / RESULT_FILES[0]
        if output is not None:
            make_results_folder(output)
        found.keep(Destination(file=file, store=store))
        if file is not None:
            say_aside(f"Results: {file}")


def _print_latest(found: AbFindings, format: Format, point: SizePoint) -> None:
    """Print the latest findings. JSON is one document, which is printed at the end; a plain table has the ranking."""
    is_for_people = format in (TERMINAL, MARKDOWN)
    if found.memories or found.counted:
        if is_for_people:
            width = MARKDOWN_WIDTH if format is MARKDOWN else terminal_width()
            text = memory_text(found.memories, width) if found.memories else counts_text(found.counted, width)
            show_rendered(beside_text(text, markdown=format is MARKDOWN))
    elif format is not JSON:
        from photometer.tables import shows_colour

        if is_for_people:
            show_point(point)
        show_rendered(render_ab(found.ranking, format, lambda width: (), {}, colour=shows_colour()))


def _rendered(found: AbFindings, format: Format, sizes: Mapping[str, object]) -> str:
    """Return all findings in one piece."""

    def beside(width: int) -> list[str]:
        texts = [counts_text(found.counted, width)] if found.counted else []
        return texts + ([memory_text(found.memories, width)] if found.memories else [])

    counts = [to_record(each.counts) for each in found.counted]
    memory = [to_record(each) for each in found.memories]
    return render_ab(found.ranking, format, beside, {"sizes": sizes, "instructions": counts, "memory": memory})
