"""`photometer compare [BASE BRANCH]`: did the branch make it slower? Exit code 3 if it did.

Without sides, it compares the working tree with the commit where it left the main branch, or as `[tool.photometer]`
says.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from photometer.ci.project_store import store_of
from photometer.cli.ci_output import (
    EXIT_OF,
    CiFiles,
    FailOn,
    commands_held,
    gate_of,
    margins_of,
    tell_gate,
    write_for_ci,
)
from photometer.cli.cluster_option import Nodes, On, compare_on, refuse_on_cluster
from photometer.cli.declared_options import is_comparable, with_instruments
from photometer.cli.help_page import FOR_EXPERTS
from photometer.cli.measuring_options import Install, Limit, LockClocks, Seed, budget_option
from photometer.cli.option_values import MOST_REPEATS, share
from photometer.cli.output_options import (
    ON_TERMINAL,
    TERMINAL,
    Wanted,
    WriteStore,
    folder_option,
    hidden,
    store_to_write,
    with_formats,
)
from photometer.cli.printing import complain, say_aside, show_rendered, terminal_width
from photometer.cli.suite_options import Expression, OneSuite, Tags, Timeout, load_if_named
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.analysis.comparison_result import EnvironmentComparison
    from photometer.analysis.gate import Gate
    from photometer.comparing.comparison import Comparison
    from photometer.comparing.request import ComparisonRequest
    from photometer.pull_request import Compared
    from photometer.report.tables.formats import Format


class Flames(str, enum.Enum):
    ALL = "all"
    SLOWER = "slower"
    NONE = "none"


class Timed(str, enum.Enum):
    CHANGED = "changed"
    ALL = "all"
    NONE = "none"


class ShownFor(str, enum.Enum):
    """GitHub's checks, which read the usual output with more beside it, and the services that read figures alone."""

    GITHUB = "github"
    GITHUB_ACTION_BENCHMARK = "github-action-benchmark"
    BENCHER = "bencher"
    PYTORCH_HUD = "pytorch-hud"


MARKDOWN_NAME = "comparison.md"
PAGE_NAME = "report.html"
# A thousand samples per side: frames of 3 % of the time are then known to a fifth.
RECORDED_SECONDS = 5.0


def register(app: typer.Typer) -> None:
    app.command("compare", help="Compare environments: did the branch make it slower?")(
        with_formats(with_instruments(compare, only=is_comparable))
    )


def compare(
    base: Annotated[
        str | None,
        typer.Argument(
            metavar="BASE",
            help="Base: current, an interpreter or venv, pip:PACKAGES, python:VERSION, git:REV, git:merge-base:BRANCH, "
            "git:WORKTREE, env:NAME=VALUE, path:DIR, or a results file; several joined by ' + ' "
            "(default: where the working tree left the main branch).",
        ),
    ] = None,
    branch: Annotated[str | None, typer.Argument(metavar="BRANCH", help="Side that is compared with BASE.")] = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="MORE…", help="More sides, each compared with BASE.")
    ] = None,
    matrix: Annotated[
        list[str] | None,
        typer.Option("--matrix", metavar="VALUES", help='A side for each value, such as "torch==2.11.0,2.12.1".'),
    ] = None,
    suite: OneSuite = None,
    expression: Expression = None,
    tags: Tags = None,
    output: Annotated[Path | None, folder_option("Folder for samples, report and bundle.")] = None,
    budget: Annotated[
        float | None, budget_option("Maximum seconds to measure (default: 10 per timed benchmark, at least 20).")
    ] = None,
    limit: Limit = None,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin",
            metavar="[TAG=]P",
            help="Relative change that does not matter, for all or for a tag (default: 0.3%; 2% with several threads).",
        ),
    ] = None,
    fdr: Annotated[
        float | None,
        typer.Option(
            "--fdr",
            metavar="P",
            parser=share,
            help="False discovery rate (default: 0.05).",
            rich_help_panel=FOR_EXPERTS,
        ),
    ] = None,
    instructions: Annotated[
        bool,
        typer.Option("--instructions/--no-instructions", help="Count instructions on all sides (needs Valgrind)."),
    ] = True,
    layouts: Annotated[
        int | None,
        typer.Option(
            "--layouts",
            metavar="N",
            min=1,
            max=MOST_REPEATS,
            help="Number of fixed memory layouts to measure changed benchmarks in (default: 1).",
            rich_help_panel=FOR_EXPERTS,
        ),
    ] = None,
    install: Install = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the comparison in -o DIR.")] = False,
    time: Annotated[
        Timed,
        typer.Option("--time", help="Benchmarks to time in full: those whose instructions changed, all, or none."),
    ] = Timed.CHANGED,
    memory: Annotated[
        bool, typer.Option("--memory/--no-memory", help="Measure what one run allocates, on all sides.")
    ] = True,
    options: Mapping[str, bool] = {},
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", metavar="N", min=1, help="Compare only benchmarks that run in groups of N processes."),
    ] = None,
    seed: Seed = None,
    lock_clocks: LockClocks = False,
    fail_on: FailOn = None,
    accepted: Annotated[
        Path | None,
        typer.Option(
            "--accepted", metavar="FILE", help="Changes that are accepted (default: photometer-accepted.txt)."
        ),
    ] = None,
    flame: Annotated[
        Flames, typer.Option("--flame", help="Benchmarks to draw flame graphs of, with -o.")
    ] = Flames.SLOWER,
    store: WriteStore = None,
    on: On = None,
    nodes: Nodes = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML with a test case per benchmark.")
    ] = None,
    gitlab_metrics: Annotated[
        Path | None,
        typer.Option(
            "--gitlab-metrics",
            metavar="FILE",
            help="Write OpenMetrics text for GitLab.",
            rich_help_panel=FOR_EXPERTS,
        ),
    ] = None,
    asked: Wanted = ON_TERMINAL,
    shown_for: Annotated[
        ShownFor | None,
        typer.Option(
            "--format",
            "-f",
            help="With github, write a job summary and annotations, too; the others print only figures for a service "
            "that keeps results of many commits.",
        ),
    ] = None,
) -> None:
    if resume and output is None:
        raise typer.BadParameter("--resume continues the comparison in -o DIR; give that folder")
    from photometer.ci.project import read_project

    project = read_project()
    if suite is None and project.suite is not None:
        suite, tags = project.suite, tags or list(project.tags)
    loaded = load_if_named(suite)
    install = install or project.install
    from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE
    from photometer.ci.default_sides import default_sides

    for_all, by_tag = margins_of(margin or [])
    for_all = project.margin if for_all is None else for_all
    sides = sides_of([side for side in (base, branch, *(more or ())) if side is not None], matrix or [])
    refused = {"--flame all": flame is Flames.ALL}
    refuse_on_cluster(on, nodes, {**refused, "a suite of another tool": loaded is not None and loaded.folders})
    if not sides:
        sides = default_sides(project, os.environ)
    if len(sides) < 2:
        raise typer.BadParameter("give BASE and BRANCH, or --matrix, or no side at all")
    gate = gate_of(fail_on, project, instructions=instructions, memory=memory, compilation=options["compile_counts"])
    from photometer.comparing.request import DEFAULT_LAYOUTS, ComparisonRequest, ComparisonSettings

    settings = ComparisonSettings(
        project.budget if budget is None else budget,
        for_all,
        DEFAULT_FALSE_DISCOVERY_RATE if fdr is None else fdr,
        instructions,
        DEFAULT_LAYOUTS if layouts is None else layouts,
        time.value,
        project.limit if limit is None else limit,
        {**project.margin_by_tag, **by_tag},
        memory,
        project.margin_by_benchmark,
        options=options,
        seed=seed,
        timeout_seconds=timeout,
        gate=gate,
    )
    if len(sides) > 2 and flame is Flames.ALL:
        raise typer.BadParameter("--flame all is for two sides; compare each side with the reference by itself")
    from photometer.ci.acceptance import find_acceptances

    place = store_to_write(store_of(store, project))
    expression = in_ranks(expression, ranks)
    request = ComparisonRequest(sides, loaded, settings, expression, tags or (), install, output, resume, place)
    known = find_acceptances(request.specs, accepted or (Path(project.accepted) if project.accepted else None))
    request = dataclasses.replace(request, accepted=known)
    _show_and_judge(request, gate, _Shown(flame, shown_for, asked, CiFiles(junit, gitlab_metrics), on, nodes))


def in_ranks(expression: str | None, ranks: int | None) -> str | None:
    """Return an expression for -k that selects groups of so many processes, too."""
    if ranks is None:
        return expression
    return f"ranks={ranks}" if expression is None else f"({expression}) and ranks={ranks}"


@dataclasses.dataclass(frozen=True)
class _Shown:
    """How a comparison is shown and kept, and where it runs."""

    flame: Flames
    shown_for: ShownFor | None
    wanted: Wanted
    files: CiFiles
    on: str | None
    nodes: int | None

    @property
    def is_text(self) -> bool:
        """Return whether the output is for people."""
        return self.shown_for in (None, ShownFor.GITHUB) and self.wanted.printed is TERMINAL


def _show_and_judge(request: ComparisonRequest, gate: Gate, shown: _Shown) -> NoReturn:
    """Compare, print, keep, and end with the exit status of the gate, or of the signal that stopped it."""
    from photometer.ci.review import Review
    from photometer.comparing.comparison import ComparisonStopped

    stopped = False
    output = request.output
    with commands_held(os.environ):
        try:
            comparison, compared = _compare(request, shown)
        except ComparisonStopped as stop:
            comparison, compared, stopped = stop.comparison, None, True
        orders = () if request.planned is None else request.planned.plan
        judged = gate.judge(comparison, {order.id: order for order in orders})
        tell_gate(gate, judged, any_slower=comparison.outcome == "slower", in_results=shown.is_text)
        if output is not None and comparison.outcome != "nothing":
            _write_markdown(comparison, output)
            if compared is not None:
                _attach(compared, output)
            elif comparison.has_many_sides:
                _write_page(comparison, output)
    shown.wanted.write(lambda each: _rendered(comparison, each))
    review = Review(comparison, judged, comparison.suite)
    write_for_ci(review, output, shown.files, for_github=shown.shown_for is ShownFor.GITHUB)
    if stopped:
        raise KeyboardInterrupt
    raise typer.Exit(EXIT_OF[judged.outcome])


def _compare(request: ComparisonRequest, shown: _Shown) -> tuple[EnvironmentComparison, Compared | None]:
    """Print the verdicts, and return them with what a bundle is made of, if both sides were live and kept in a folder.

    On a terminal, the table comes as soon as the verdicts stand, and their causes when they are known. If a signal ends
    it, what is known is printed first.
    """
    from photometer.ci.acceptance import accept
    from photometer.cli.doctor import say_machine_line
    from photometer.cli.progress import comparison_progress
    from photometer.comparing.comparison import ComparisonStopped
    from photometer.comparing.environments import live_comparison
    from photometer.comparing.unpaired import compare_unpaired

    on = shown.on
    if request.is_live and on is None:
        request.check()
        say_machine_line()
    for sentence in () if request.planned is None else request.planned.selection:
        complain(sentence)
    with comparison_progress() as observer:
        if not request.is_live and on is None:
            comparison = accept(compare_unpaired(request, observer), request.accepted)
            with observer.aside():
                _print(comparison, shown)
            return comparison, None
        if on is not None:
            comparison = compare_on(on, shown.nodes, request, observer)
            with observer.aside():
                _print(comparison, shown)
            return comparison, None
        printed: list[EnvironmentComparison] = []

        def on_decided(decided: EnvironmentComparison) -> None:
            if shown.is_text:
                with observer.aside():
                    _print(decided, shown)
                printed.append(decided)

        def show(comparison: EnvironmentComparison) -> None:
            with observer.aside():
                if printed:
                    _print_causes(comparison, printed[0])
                else:
                    _print(comparison, shown)

        with contextlib.ExitStack() as stack:
            live = stack.enter_context(live_comparison(request, observer))
            try:
                comparison = live.run(on_decided)
            except ComparisonStopped as stop:
                # Nothing is left to be measured: end what is running before anything is printed.
                stack.close()
                show(stop.comparison)
                raise
            show(comparison)
            compared = None
            if request.output is not None and live.seconds_left() > 0.0 and not comparison.has_many_sides:
                observer.stage("drawing flame graphs")
                compared = _draw(live, comparison, request.output, shown.flame)
            return comparison, compared


def _draw(live: Comparison, comparison: EnvironmentComparison, folder: Path, which: Flames) -> Compared:
    """Draw flame graphs of the benchmarks that became slower, while both sides can still be started."""
    from photometer.execution.profile import ProfileSettings
    from photometer.pull_request import draw_flames

    return draw_flames(
        live,
        comparison,
        folder,
        which.value,
        settings=ProfileSettings(counted=live.settings.instructions, duration_seconds=RECORDED_SECONDS),
        on_work=lambda title: say_aside(f"flame graph, {title}") if sys.stderr.isatty() else None,
    )


def _attach(compared: Compared, folder: Path) -> None:
    from photometer.pull_request import attach

    for problem in compared.flames.problems:
        complain(problem)
    # Of the command as it was typed, only the way to photometer is not to be repeated.
    path = attach(compared, folder, ["photometer", *hidden(sys.argv[1:])])
    say_aside(f"To attach to a pull request: {path}")


def _print(comparison: EnvironmentComparison, shown: _Shown) -> None:
    if shown.shown_for is not None and shown.shown_for is not ShownFor.GITHUB:
        show_rendered(_exported(comparison, shown.shown_for))
    else:
        show_rendered(_rendered(comparison, shown.wanted.printed))


def _rendered(comparison: EnvironmentComparison, format: Format) -> str:
    from photometer.cli.show import render_compared
    from photometer.tables import shows_colour

    return render_compared(comparison, format, colour=shows_colour())


def _exported(comparison: EnvironmentComparison, service: ShownFor) -> str:
    """Return the figures of the sides besides the reference, for a service that keeps those of many commits."""
    from photometer.ci.export_formats import EXPORTS
    from photometer.ci.exported_figures import figures_of_comparison
    from photometer.instruments.machine_facts import gather_machine

    return EXPORTS[service.value](figures_of_comparison(comparison, gather_machine()))


def _print_causes(comparison: EnvironmentComparison, printed: EnvironmentComparison) -> None:
    """Print the findings since the table was printed."""
    from photometer.report.verdict_text import render_causes

    text = render_causes(comparison, printed, terminal_width())
    if text:
        show_rendered(text)


def _write_page(comparison: EnvironmentComparison, folder: Path) -> None:
    """Write the page of many sides: versions across, benchmarks down."""
    from photometer.instruments.machine_facts import gather_machine
    from photometer.model.whole_file import write_text_whole
    from photometer.report.matrix_page import render_matrix_page

    path = folder / PAGE_NAME
    write_text_whole(path, render_matrix_page(comparison, gather_machine().summary()))
    say_aside(f"The page: {path}")


def sides_of(sides: list[str], matrices: list[str]) -> list[str]:
    """Return the sides as typed, or those of the matrices with the one side that they have in common."""
    if not matrices:
        return sides
    from photometer.comparing.request import matrix_sides

    if len(sides) > 1:
        raise typer.BadParameter("--matrix names the sides; give at most one BASE, which is then part of all of them")
    return matrix_sides(matrices, sides[0] if sides else None)


def _write_markdown(comparison: EnvironmentComparison, folder: Path) -> None:
    from photometer.model.whole_file import not_written, write_text_whole
    from photometer.report.comparison_text import render_comparison_markdown

    path = folder / MARKDOWN_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(path, error, remedy="Name another folder.") from error
    write_text_whole(path, render_comparison_markdown(comparison))
