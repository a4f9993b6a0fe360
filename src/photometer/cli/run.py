"""`photometer run SUITE…`: measures every variant of a suite, writes results.json and prints the table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.cluster_option import Nodes, On, joined, place_on
from photometer.cli.doctor import say_machine_line
from photometer.cli.ending import STOPPED
from photometer.cli.exit_codes import ExitCode
from photometer.cli.fail_on_compile import FailOnCompile, compile_complaints, parse_fail_on
from photometer.cli.measuring_options import Instructions, Memory, MinRunTime, Python, Repeats, Wall
from photometer.cli.own_code import make_own_code_importable
from photometer.cli.printing import complain, say_aside, show_rendered, show_text
from photometer.cli.store_option import WriteStore, store_of, store_to_write
from photometer.cli.suite_options import (
    Cores,
    Expression,
    MoreSuites,
    Suites,
    Tags,
    Timeout,
    chosen_suites,
    saying_selection,
)
from photometer.cli.sweep_options import Axes, Where, chosen_axes
from photometer.model.visible_text import visible_line

if TYPE_CHECKING:
    from photometer.execution.run_settings import RunSettings
    from photometer.pipeline import RunReport

DEFAULT_FOLDER = Path("photometer-results")


def register(app: typer.Typer) -> None:
    app.command("run", help="Measure a suite: wall time and instructions of every variant.")(run)


def run(
    suites: Suites = None,
    more: MoreSuites = None,
    expression: Expression = None,
    tags: Tags = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results.")
    ] = None,
    wall: Wall = True,
    instructions: Instructions = True,
    cores: Cores = None,
    min_run_time: MinRunTime = 0.2,
    timeout: Timeout = 120.0,
    repeats: Repeats = 2,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped; repeat nothing.")] = False,
    python: Python = None,
    classic: Annotated[
        bool, typer.Option("--classic", help="Suite overrides: minimum and standard deviation of four types.")
    ] = False,
    memory: Memory = False,
    compile_report: Annotated[
        bool,
        typer.Option(
            "--compile-report/--no-compile-report",
            help="Report what torch.compile took and met, for compiled variants.",
        ),
    ] = True,
    fail_on: FailOnCompile = None,
    store: WriteStore = None,
    axes: Axes = None,
    where: Where = None,
    rates: Annotated[
        bool, typer.Option("--rates", help="Count FLOPs and bytes; compare GFLOP/s and GB/s with this machine's peak.")
    ] = False,
    energy: Annotated[bool, typer.Option("--energy", help="Measure the energy of a run on a GPU (NVML).")] = False,
    on: On = None,
    nodes: Nodes = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress and no table.")] = False,
) -> None:
    from photometer.cli.progress import run_progress
    from photometer.pipeline import run_suite

    if on is not None and cores is not None:
        raise typer.BadParameter("--cores are of this machine; --on uses those of its nodes")
    fail_words = parse_fail_on(fail_on)
    if fail_words and not compile_report:
        raise typer.BadParameter("--fail-on reads the compile report; leave --no-compile-report out")
    chosen = chosen_suites(suites, tags, more)
    suites, tags = chosen.names, chosen.tags
    if classic:
        tags, wall, instructions = ["classic"], True, False
    settings = run_settings(
        suites=suites,
        cores=cores,
        python=python,
        wall=wall,
        instructions=instructions,
        min_run_time=min_run_time,
        repeats=repeats,
        ladder=not classic,
        memory=memory,
    )
    settings = dataclasses.replace(
        settings,
        rates=rates,
        energy=energy,
        axes=chosen_axes(axes),
        where=where,
        compile_report=compile_report,
    )
    place = store_to_write(store_of(store))
    if not quiet:
        say_machine_line()
    reports = []
    try:
        with joined(on, nodes, settings.environment.importable) as cluster:
            open_place = place_on(cluster, nodes, settings.environment)
            for suite in suites:
                name = Path(suite.partition(":")[0]).stem
                folder = DEFAULT_FOLDER / name if output is None else output / name if len(suites) > 1 else output
                with run_progress(name, quiet=quiet) as observer:
                    report = run_suite(
                        suite,
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
                    )
                reports.append(report)
                if classic:
                    _print_classic(report)
                else:
                    _print(report, quiet)
    except KeyboardInterrupt:
        complain("--resume continues the run")
        raise typer.Exit(STOPPED) from None
    complaints = compile_complaints([report.results for report in reports], fail_words)
    for complaint in complaints:
        complain(complaint)
    raise typer.Exit(ExitCode.FAILED if complaints else _exit_code(reports))


def run_settings(
    *,
    suites: Sequence[str] = (),
    cores: str | None,
    python: str | None,
    wall: bool = True,
    instructions: bool = True,
    min_run_time: float = 0.2,
    repeats: int = 2,
    ladder: bool = True,
    memory: bool = False,
) -> RunSettings:
    """Return what the options say. Without Valgrind, instructions are left out, with a word about it."""
    from photometer.errors import ToolMissing
    from photometer.execution.run_settings import RunSettings
    from photometer.model.environment import Environment
    from photometer.session.cores import parse_cores
    from photometer.session.valgrind import find_valgrind

    if instructions:
        try:
            find_valgrind()
        except ToolMissing as missing:
            if not wall:
                raise
            complain(f"wall time only: {missing}")
            instructions = False
    folders = make_own_code_importable(suites)
    environment = Environment.current() if python is None else Environment(python, importable=folders)
    chosen = parse_cores(cores) if cores else ()
    return RunSettings(wall, instructions, min_run_time, repeats, chosen, environment, ladder, memory)


def _print(report: RunReport, quiet: bool) -> None:
    if report.results is None:
        complain("nothing is selected; `photometer list` shows the labels")
        return
    if quiet:
        from photometer.report.run_text import render_failure

        for failure in report.table.failures:
            say_aside(render_failure(failure))
        return
    from photometer.cli.run_output import run_text
    from photometer.model.results_reader import load_results

    show_rendered(run_text(load_results(report.results), {order.id for order in report.plan}))
    show_text(f"Results: {report.results}")


def _print_classic(report: RunReport) -> None:
    """Print for each type the fastest block and the standard deviation of all blocks, per call."""
    from photometer.model.measurement import Measurement
    from photometer.model.records import from_record
    from photometer.model.results_reader import load_results
    from photometer.stats.summary import standard_deviation

    if report.results is None:
        complain("this suite has no cases with the tag `classic`")
        return
    names = {order.id: order.label[-1] for order in report.plan}
    records = load_results(report.results).records_by_suite
    for record in (record for record in records if record["kind"] == Measurement.KIND):
        measurement = from_record(Measurement, record)
        name = names.get(record["order"]["id"], measurement.task_spec.title)
        lowest, spread = 1e6 * min(measurement.times), 1e6 * standard_deviation(measurement.times)
        show_text(f"{visible_line(name):22} minimum {lowest:8.3f} us, standard deviation {spread:8.3f} us")


def _exit_code(reports: list[RunReport]) -> ExitCode:
    if not any(report.table.measured for report in reports):
        return ExitCode.FAILED if any(report.table.failures for report in reports) else ExitCode.NOTHING_RAN
    return ExitCode.FAILED if any(report.table.failures for report in reports) else ExitCode.FINE
