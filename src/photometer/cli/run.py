"""`photometer run SUITE…`: measures every variant of a suite, writes results.json and prints the table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.ci.project_store import store_of
from photometer.cli.cluster_option import Nodes, On, RanksPerNode, joined, place_on
from photometer.cli.code_options import make_own_code_importable
from photometer.cli.compile_report import FailOnCompile, compile_gate, exit_status
from photometer.cli.declared_options import with_instruments
from photometer.cli.doctor import say_machine_line
from photometer.cli.ending import STOPPED
from photometer.cli.help_page import FOR_EXPERTS
from photometer.cli.measuring_options import Budget, LockClocks, MinRunTime, Python, Repeats, Seed
from photometer.cli.output_options import (
    ON_TERMINAL,
    TERMINAL,
    ForService,
    Service,
    Wanted,
    WriteStore,
    folder_option,
    store_to_write,
    with_formats,
)
from photometer.cli.printing import complain, say_aside, show_rendered, show_text
from photometer.cli.suite_options import (
    Cores,
    Expression,
    MoreSuites,
    Suites,
    Tags,
    Timeout,
    chosen_suites,
    load_suites,
    say_nothing_selected,
    saying_selection,
)
from photometer.cli.sweep_options import Axes, Where, check_sweep, chosen_axes
from photometer.model.results_folder import RESULTS_FOLDER
from photometer.model.visible_text import visible_line
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.execution.run_settings import RunSettings
    from photometer.model.compile_report import CompileReport
    from photometer.pipeline import RunReport, RunStopped
    from photometer.report.tables.formats import Format


def register(app: typer.Typer) -> None:
    app.command("run", help="Measure a suite: wall time and instructions of every variant.")(
        with_formats(with_instruments(run))
    )


def run(
    suites: Suites = None,
    more: MoreSuites = None,
    expression: Expression = None,
    tags: Tags = None,
    output: Annotated[Path | None, folder_option("Folder for the results.")] = None,
    options: Mapping[str, bool] = {},
    cores: Cores = None,
    min_run_time: MinRunTime = 0.2,
    budget: Budget = None,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    repeats: Repeats = 2,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run that was stopped, or was --quick; repeat nothing.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Only time each variant, once; --resume does the rest."),
    ] = False,
    python: Python = None,
    classic: Annotated[
        bool,
        typer.Option(
            "--classic",
            help="Of the suite overrides, print minimum and standard deviation of torch's four types.",
            rich_help_panel=FOR_EXPERTS,
        ),
    ] = False,
    fail_on: FailOnCompile = None,
    store: WriteStore = None,
    axes: Axes = None,
    where: Where = None,
    on: On = None,
    nodes: Nodes = None,
    ranks_per_node: RanksPerNode = None,
    seed: Seed = None,
    lock_clocks: LockClocks = False,
    asked: Wanted = ON_TERMINAL,
    service: ForService = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress and no table.")] = False,
) -> None:
    options = _times_alone(options) if quick else options
    shows_tables = service is None and asked.printed is TERMINAL
    if on is not None and cores is not None:
        raise typer.BadParameter("--cores selects cores of this machine; --on uses those of its nodes")
    gate = compile_gate(fail_on)
    if gate.rules and not options["compile_report"]:
        raise typer.BadParameter("--fail-on reads the compile report; leave --no-compile-report out")
    chosen = chosen_suites(suites, tags, more)
    suites, tags = chosen.names, chosen.tags
    loaded = load_suites(suites, expression)
    if on is not None and any(suite.folders for suite in loaded):
        raise typer.BadParameter("the nodes of --on cannot run suites of other tools: their code is on this machine")
    sweep_axes = chosen_axes(axes)
    check_sweep(loaded, sweep_axes, where)
    if classic:
        tags, options = ["classic"], {**options, "wall": True, "instructions": False}
    settings = run_settings(
        suites=suites,
        cores=cores,
        python=python,
        options=options,
        min_run_time=min_run_time,
        repeats=repeats,
        ladder=not classic,
    )
    settings = dataclasses.replace(settings, axes=sweep_axes, where=where, seed=seed, quick=quick)
    place = store_to_write(store_of(store))
    from photometer.cli.progress import run_progress
    from photometer.execution.budget import Budget as Spending
    from photometer.pipeline import RunStopped, run_suite

    spending = Spending(budget)
    if not quiet:
        say_machine_line()
    reports = []
    try:
        with joined(on, nodes, settings.environment.importable) as cluster:
            open_place = place_on(cluster, nodes, settings.environment, ranks_per_node=ranks_per_node)
            for suite, defined in zip(suites, loaded, strict=True):
                # Of another tool's suite, `asv:benchmarks`, the first part is the tool.
                name = defined.name if defined.folders else Path(suite.partition(":")[0]).stem
                folder = RESULTS_FOLDER / name if output is None else output / name if len(suites) > 1 else output
                with run_progress(name, quiet=quiet) as observer:
                    report = run_suite(
                        defined,
                        folder,
                        settings,
                        expression=expression,
                        tags=tags,
                        timeout_seconds=timeout,
                        resume=resume,
                        observer=observer,
                        store=place,
                        on_plan=None if quiet else saying_selection(expression, tags),
                        open_place=open_place,
                        budget=spending,
                    )
                reports.append(report)
                if classic:
                    _print_classic(report)
                elif report.results is None:
                    say_nothing_selected(defined, narrowed=bool(expression or tags))
                else:
                    _print(report, quiet or not shows_tables)
    except KeyboardInterrupt as stop:
        if isinstance(stop, RunStopped):
            _print_stopped(stop, quiet or not shows_tables)
        complain("--resume continues the run")
        raise typer.Exit(STOPPED) from None
    if spending.cut_short:
        complain(f"not all is measured: the {budget:g} s of --budget are over; --resume measures the rest")
    _give(reports, service, asked)
    raise typer.Exit(
        exit_status(
            gate,
            _compile_reports(reports) if gate.rules else (),
            measured=any(report.table.measured or report.table.skips for report in reports),
            failed=any(report.table.failures for report in reports),
        )
    )


def _times_alone(options: Mapping[str, bool]) -> Mapping[str, bool]:
    """Return the options of a quick pass."""
    if not options["wall"]:
        raise typer.BadParameter("--quick measures only times, which --no-wall turns off")
    return {**dict.fromkeys(options, False), "wall": True}


def _compile_reports(reports: list[RunReport]) -> list[CompileReport]:
    from photometer.model.compile_report import CompileReport
    from photometer.model.results_reader import load_results

    files = [report.results for report in reports if report.results is not None]
    return [each for path in files for each in load_results(path).of(CompileReport)]


def run_settings(
    *,
    suites: Sequence[str] = (),
    cores: str | None,
    python: str | None,
    options: Mapping[str, bool],
    min_run_time: float = 0.2,
    repeats: int = 2,
    ladder: bool = True,
) -> RunSettings:
    """Return the settings of the options. Without Valgrind, instructions are left out, with a message."""
    from photometer.errors import ToolMissing
    from photometer.execution.run_settings import RunSettings
    from photometer.instruments.registry import asked_for
    from photometer.model.machine import Environment
    from photometer.session.cores import parse_cores
    from photometer.session.valgrind import find_valgrind

    counting = {each.option.name for each in asked_for(options) if each.under_valgrind and each.option is not None}
    if counting:
        try:
            find_valgrind()
        except ToolMissing as missing:
            if not options.get("wall", True):
                raise
            complain(f"wall time only: {missing}")
            options = {**options, **dict.fromkeys(counting, False)}
    folders = make_own_code_importable(suites)
    environment = Environment.current() if python is None else Environment(python, importable=folders)
    chosen = parse_cores(cores) if cores else ()
    return RunSettings(options, min_run_time, repeats, chosen, environment, ladder)


def _give(reports: list[RunReport], service: Service | None, asked: Wanted) -> None:
    """Print and write the requested outputs besides the tables, if anything is measured."""
    if not any(report.table.measured for report in reports):
        return
    if service is not None:
        show_rendered(_exported(reports, service))
    elif asked.printed is not TERMINAL:
        show_rendered(_rendered(reports, asked.printed))
    asked.write(lambda each: _rendered(reports, each))


def _rendered(reports: list[RunReport], format: Format) -> str:
    """Return the tables of all suites as `show` prints them."""
    from photometer.cli.show import render_files

    return render_files([report.results for report in reports if report.results is not None], format)


def _exported(reports: list[RunReport], service: Service) -> str:
    """Return the figures of all suites, for a service that keeps those of many commits."""
    from photometer.ci.export_formats import EXPORTS
    from photometer.ci.exported_figures import figures_of_results
    from photometer.model.results_reader import load_results

    loaded = [load_results(report.results) for report in reports if report.results is not None]
    return EXPORTS[service.value](figures_of_results(loaded, {order.id for report in reports for order in report.plan}))


def _print(report: RunReport, quiet: bool) -> None:
    assert report.results is not None
    if quiet:
        from photometer.report.run_text import render_failure

        for failure in report.table.failures:
            say_aside(render_failure(failure))
        return
    from photometer.cli.show import run_text
    from photometer.model.results_reader import load_results
    from photometer.model.visit import with_unfinished

    show_rendered(run_text(with_unfinished(load_results(report.results)), {order.id for order in report.plan}))
    show_text(f"Results: {report.results}")


def _print_stopped(stop: RunStopped, quiet: bool) -> None:
    """Print the results of a run that a signal ended: finished ones, and the visits of the others."""
    from photometer.cli.show import run_text
    from photometer.model.results_reader import load_results
    from photometer.model.visit import with_unfinished

    known = with_unfinished(load_results(stop.results, recover=True))
    if known.records and not quiet:
        show_rendered(run_text(known))


def _print_classic(report: RunReport) -> None:
    """Print for each type the fastest block and the standard deviation of all blocks, per call."""
    from photometer.model.measurement import Measurement
    from photometer.model.records import from_record
    from photometer.model.results_reader import load_results
    from photometer.model.units import format_seconds
    from photometer.stats.summary import standard_deviation

    if report.results is None:
        complain("this suite has no cases with the tag `classic`")
        return
    names = {order.id: order.label[-1] for order in report.plan}
    records = load_results(report.results).records_by_suite
    for record in (record for record in records if record["kind"] == Measurement.KIND):
        measurement = from_record(Measurement, record)
        name = names.get(record["order"]["id"], measurement.task_spec.title)
        lowest, spread = format_seconds(min(measurement.times)), format_seconds(standard_deviation(measurement.times))
        show_text(f"{visible_line(name):22} minimum {lowest:>8}, standard deviation {spread:>8}")
