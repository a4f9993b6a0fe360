"""`photometer check SUITE…`: runs every variant once and compares what those of one benchmark computed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.exit_codes import ExitCode
from photometer.cli.measuring_options import Python, Seed
from photometer.cli.printing import show_text
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
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.analysis.check_results import CheckedBenchmark


def register(app: typer.Typer) -> None:
    app.command("check", help="Run every variant of a suite once and compare their results.")(check)


def check(
    suites: Suites = None,
    more: MoreSuites = None,
    expression: Expression = None,
    tags: Tags = None,
    cores: Cores = None,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    python: Python = None,
    seed: Seed = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show problems only.")] = False,
) -> None:
    chosen = chosen_suites(suites, tags, more)
    suites, tags = chosen.names, chosen.tags
    loaded = load_suites(suites, expression)
    from photometer.cli.progress import run_progress
    from photometer.cli.run import run_settings
    from photometer.pipeline import check_suite

    settings = run_settings(suites=suites, cores=cores, python=python, options={"instructions": False})
    settings = dataclasses.replace(settings, seed=seed)
    checked: list[CheckedBenchmark] = []
    for suite, defined in zip(suites, loaded, strict=True):
        with run_progress(suite, quiet=quiet) as observer:
            checked += check_suite(
                defined,
                settings,
                expression=expression,
                tags=tags,
                timeout_seconds=timeout,
                observer=observer,
                on_plan=None if quiet else saying_selection(expression, tags),
            )
    if not checked:
        for defined in loaded:
            say_nothing_selected(defined, narrowed=bool(expression or tags))
        raise typer.Exit(ExitCode.NOTHING_RAN)
    raise typer.Exit(_tell(checked, quiet))


def _tell(checked: list[CheckedBenchmark], quiet: bool) -> ExitCode:
    for benchmark in checked:
        for problem in benchmark.problems:
            show_text(f"{benchmark.title}: {problem}")
    wrong = [benchmark for benchmark in checked if benchmark.problems]
    compared = sum(bool(benchmark.compared) for benchmark in checked)
    if not quiet:
        from photometer.report.skipped_text import skipped_lines

        skipped = [each for benchmark in checked for each in benchmark.skipped]
        for line in skipped_lines((title, "", reason) for title, reason in skipped):
            show_text(line)
        variants = sum(benchmark.variants for benchmark in checked) - len(skipped)
        show_text(
            f"{variants} variants of {len(checked)} benchmarks ran once; "
            f"results of {compared} were compared; {len(wrong)} have problems"
            + (f"; {len(skipped)} were skipped." if skipped else ".")
        )
    return ExitCode.FAILED if wrong else ExitCode.FINE
