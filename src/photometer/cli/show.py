"""`photometer show FILE…`: results files as tables, for the terminal or as Markdown, HTML, CSV or JSON.

`run` prints the text that is made here from its results file alone: both print the same.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from photometer.cli.ab_output import is_ab, show_ab
from photometer.cli.fuzz import is_fuzz, show_fuzz
from photometer.cli.output_options import ON_TERMINAL, TERMINAL, ForService, Service, Wanted, with_formats
from photometer.cli.printing import complain, show_rendered, terminal_width
from photometer.model.results_folder import RESULT_FILES
from photometer.report.tables.formats import CSV, HTML, JSON, MARKDOWN

if TYPE_CHECKING:
    from photometer.analysis.comparison_result import EnvironmentComparison
    from photometer.model.measurement import Measurement
    from photometer.model.results_reader import Results
    from photometer.report.tables.formats import Format
    from photometer.tables import Compare

# More measurements than this have their percentiles on demand, so that the table of times stays in sight.
MOST_PERCENTILES = 20


class Ratio(str, enum.Enum):
    TIMES = "x"
    PERCENT = "%"


def register(app: typer.Typer) -> None:
    app.command("show", help="Show results files as tables.")(with_formats(show))


def show(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Results files, or folders of runs; repeats of a statement are merged."),
    ],
    asked: Wanted = ON_TERMINAL,
    service: ForService = None,
    by_file: Annotated[
        bool, typer.Option("--by-file", help="Do not merge files; the name of each becomes its env.")
    ] = False,
    relative: Annotated[Ratio | None, typer.Option(help="Show ratios too: x (1.25×) or % (+25.0%).")] = None,
    baseline: Annotated[str | None, typer.Option(metavar="ROW", help="Row for ratios (default: fastest).")] = None,
    baseline_env: Annotated[str | None, typer.Option(metavar="ENV", help="Env (or file) for ratios.")] = None,
    transpose: Annotated[bool, typer.Option("--transpose", help="Turn rows into columns.")] = False,
    variants: Annotated[
        bool,
        typer.Option("--variants", help="One line per variant of a run: sizes, times, rates, metrics (CSV or JSON)."),
    ] = False,
    percentiles: Annotated[
        bool,
        typer.Option(
            "--percentiles", help="Show the 50th, 90th, 95th and 99th percentile of each measurement's runs or blocks."
        ),
    ] = False,
    recover: Annotated[bool, typer.Option("--recover", help="Use the intact records of a damaged file.")] = False,
) -> None:
    from photometer.model.results_reader import load_results
    from photometer.model.visit import with_unfinished

    loaded = [with_unfinished(load_results(_file_of(path), recover)) for path in files]
    _tell_damage(loaded)
    if service is not None:
        show_rendered(_exported(loaded, service))
        return
    if variants:
        asked.give(lambda each: _variants(loaded, each))
        return
    if percentiles:
        asked.give(lambda each: _percentiles(loaded, each))
        return
    layout = _Layout(by_file, relative, baseline, baseline_env, transpose)

    def shown(format: Format) -> str:
        text = _shown(loaded, format, layout, colour=format is TERMINAL and _shows_colour())
        return text + _few_percentiles(loaded, format) if layout.is_usual else text

    asked.give(shown)


@dataclasses.dataclass(frozen=True)
class _Layout:
    """The options for a table."""

    by_file: bool
    relative: Ratio | None
    baseline: str | None
    baseline_env: str | None
    transpose: bool

    @property
    def is_usual(self) -> bool:
        return not any((self.by_file, self.relative, self.baseline, self.baseline_env, self.transpose))


def _shows_colour() -> bool:
    from photometer.tables import shows_colour

    return shows_colour()


def _shown(loaded: list[Results], format: Format, layout: _Layout, *, colour: bool) -> str:
    """Return files as their commands printed them; several kinds, or on request, as one table."""
    # A page is one document.
    if layout.is_usual and (format is not HTML or len(loaded) == 1):
        if format in (TERMINAL, MARKDOWN) and _are_runs(loaded):
            return "\n".join(_run_in_format(results, format) for results in loaded)
        if all(is_ab(results) for results in loaded):
            return "\n".join(show_ab(results, format, colour=colour) for results in loaded)
        if all(is_fuzz(results) for results in loaded) and (format is TERMINAL or len(loaded) == 1):
            return "\n".join(show_fuzz(results, format) for results in loaded)
        compared = [_comparison_in(results) for results in loaded]
        if all(compared):
            return "\n".join(render_compared(each, format, colour=colour) for each in compared if each)
    return _as_one_table(loaded, format, layout, colour=colour)


def _as_one_table(loaded: list[Results], format: Format, layout: _Layout, *, colour: bool) -> str:
    from photometer.errors import ResultsFileError
    from photometer.model.machine import torch_names
    from photometer.tables import Compare

    # What was measured with different builds of torch is never merged.
    names: Sequence[str | None]
    names = [each.path.stem for each in loaded] if layout.by_file else torch_names([each.machine for each in loaded])
    shown: list[object] = []
    for results, name in zip(loaded, names, strict=True):
        shown += _with_samples(results.path, _measurements(results, name))
        shown += _others(results, name)
    _tell_what_is_left_out(loaded)
    if not shown:
        raise ResultsFileError(
            f"no measurements in {', '.join(str(results.path) for results in loaded)}",
            remedy="Measure something first: photometer time --help.",
        )
    comparison = Compare(shown)
    comparison.trim_significant_figures()
    comparison.colorize()
    comparison.highlight_warnings()
    if layout.baseline is not None or layout.baseline_env is not None:
        comparison.baseline(layout.baseline, env=layout.baseline_env)
    if layout.relative is not None:
        comparison.relative(style="%" if layout.relative is Ratio.PERCENT else "×")
    if layout.transpose:
        comparison.transpose()
    return _render(comparison, format, _machine_lines(loaded), colour=colour)


def render_files(files: Sequence[Path], format: Format) -> str:
    """Return results files as `show` prints them."""
    from photometer.model.results_reader import load_results

    return _shown([load_results(path) for path in files], format, _Layout(False, None, None, None, False), colour=False)


def _exported(loaded: list[Results], service: Service) -> str:
    """Return the figures for a service that keeps those of many commits."""
    from photometer.ci.export_formats import EXPORTS
    from photometer.ci.exported_figures import figures_of_results

    return EXPORTS[service.value](figures_of_results(loaded))


def _file_of(path: Path) -> Path:
    """Return the results file of a folder of a run or of a comparison; a file as it is."""
    if not path.is_dir():
        return path
    return next((path / name for name in RESULT_FILES if (path / name).exists()), path / RESULT_FILES[0])


def _comparison_in(results: Results) -> EnvironmentComparison | None:
    from photometer.analysis.comparison_reader import read_comparison

    return read_comparison(results)


def render_compared(comparison: EnvironmentComparison, format: Format, *, colour: bool) -> str:
    """Return a comparison as `compare` prints it."""
    from photometer.report.comparison_text import render_comparison, render_comparison_in

    if format is TERMINAL:
        return render_comparison(comparison, terminal_width(), colour=colour)
    return render_comparison_in(format, comparison)


def _are_runs(loaded: list[Results]) -> bool:
    from photometer.analysis.run_table import is_run

    return all(is_run(results) for results in loaded)


def _run_in_format(results: Results, format: Format) -> str:
    """Return the file as `run` printed it."""
    from photometer.model.visible_text import visible

    machine = results.machine.summary() if results.machine is not None else ""
    if format is MARKDOWN:
        from photometer.analysis.run_table import tabulate_run
        from photometer.report.escape import markdown_text
        from photometer.report.figures_text import instrument_tables
        from photometer.report.run_text import render_run_markdown
        from photometer.report.tables.as_markdown import render_markdown

        head = f"{markdown_text(f'{results.path.name}: {machine}')}\n\n{render_run_markdown(tabulate_run(results))}"
        return head + "".join(f"\n{render_markdown(table)}" for table in instrument_tables(results.records_by_suite))
    return f"{visible(f'{results.path.name}: {machine}')}\n{run_text(results)}"


def _variants(loaded: list[Results], format: Format) -> str:
    """Return a line per variant; on a terminal as CSV, because there are more columns than it is wide."""
    from photometer.analysis.result_rows import variant_rows
    from photometer.report.tables.as_csv import render_variants_json
    from photometer.report.tables.table import table_of_records

    rows = [
        {**row, **({"file": results.path.name} if len(loaded) > 1 else {})}
        for results in loaded
        for row in variant_rows(results.records_by_suite)
    ]
    if format is JSON:
        return render_variants_json(rows)
    return (CSV if format is TERMINAL else format).render(table_of_records(rows))


def _few_percentiles(loaded: list[Results], format: Format) -> str:
    """Return the table of percentiles for people, if one file has so few measurements that it may follow the others."""
    from photometer.report.run_text import table_of_percentiles

    measured = [m for m in loaded[0].measurements if m.raw_times]
    if len(loaded) > 1 or not measured or format not in (TERMINAL, MARKDOWN):
        return ""
    if len(measured) <= MOST_PERCENTILES:
        return "\n" + format.render(table_of_percentiles(measured))
    note = "\n--percentiles shows the 50th, 90th, 95th and 99th percentile of each.\n"
    return note if format is TERMINAL else ""


def _percentiles(loaded: list[Results], format: Format) -> str:
    from photometer.report.run_text import table_of_percentiles

    measured = [m for results in loaded for m in _with_samples(results.path, results.measurements)]
    return format.render(table_of_percentiles(measured))


def _measurements(results: Results, name: str | None) -> list[Measurement]:
    """Return the measurements of a file, with its name in their env if it has one."""
    if name is None:
        return results.measurements
    from photometer.model.measurement import Measurement

    return [
        Measurement(
            m.number_per_run,
            m.raw_times,
            dataclasses.replace(m.task_spec, env=name if m.env is None else f"{name}: {m.env}"),
            m.metadata,
            m.conditions,
        )
        for m in results.measurements
    ]


def _others(results: Results, name: str | None) -> list[Any]:
    """Return results of other kinds that tables show: device times and counts, with the file's name in their env."""
    nouns = [noun for kind in _table_kinds().values() for noun in results.of(kind)]
    if name is None:
        return nouns
    return [
        dataclasses.replace(
            noun,
            task_spec=dataclasses.replace(
                noun.task_spec, env=name if noun.task_spec.env is None else f"{name}: {noun.task_spec.env}"
            ),
        )
        if hasattr(noun, "task_spec")
        else noun
        for noun in nouns
    ]


def _table_kinds() -> dict[str, Any]:
    from photometer.analysis.ranking import Ranking
    from photometer.model.device_measurement import DeviceMeasurement
    from photometer.model.instruction_counts import CallgrindStats, InstructionCounts
    from photometer.model.run_figures import ProcessorCounts

    kinds = (DeviceMeasurement, InstructionCounts, CallgrindStats, ProcessorCounts, Ranking)
    return {noun.KIND: noun for noun in kinds}


def _with_samples(path: Path, measurements: list[Measurement]) -> list[Measurement]:
    """Return the measurements that have samples; a run that was interrupted before its first block has none."""
    for measurement in measurements:
        if not measurement.raw_times:
            complain(f"{path}: not in the tables: {measurement.title!r} has no samples; measure it again")
    return [measurement for measurement in measurements if measurement.raw_times]


def _tell_damage(loaded: list[Results]) -> None:
    for results in loaded:
        for damage in results.damage:
            complain(f"{results.path}: {damage}")


def _tell_what_is_left_out(loaded: list[Results]) -> None:
    others = sum((results.kinds for results in loaded), Counter())
    for kind, count in others.items():
        if kind != "measurement" and kind not in _table_kinds():
            complain(f"not in the tables: {count} of kind {kind!r}")


def _machine_lines(loaded: list[Results]) -> list[str]:
    return [f"{results.path.name}: {results.machine.summary()}" for results in loaded if results.machine is not None]


def _render(comparison: Compare, format: Format, machines: list[str], *, colour: bool) -> str:
    if format is not TERMINAL:
        from photometer.report.tables.compare_formats import render_in

        return render_in(format, comparison.tables(), machines)
    from photometer.model.visible_text import visible

    above = "".join(visible(line) + "\n" for line in machines)
    return above + comparison.to_text(colour=colour)


def run_text(results: Results, only: Collection[str] | None = None) -> str:
    """Return the tables of a run, and how many variants have results; `only` those of the orders with these ids."""
    from photometer.analysis.run_table import tabulate_run
    from photometer.report.run_text import render_run, summary_line

    width = terminal_width()
    table = tabulate_run(results, only)
    parts = (render_run(table, width), _figures(results, width), _runtimes(results, width))
    return "".join(parts) + f"\n{summary_line(table)}.\n" + _ladder(results, width)


def _figures(results: Results, width: int) -> str:
    """Return the figures besides times and counts, as tables and sentences; empty if there are none."""
    from photometer.analysis.curves import curve_sets
    from photometer.analysis.order_facts import collect_facts
    from photometer.analysis.rates import peaks_in, rates_of
    from photometer.report.figures_text import (
        instrument_tables,
        render_curves,
        render_energy,
        render_observed,
        render_rates,
    )
    from photometer.report.tables.as_text import render_text

    facts, peaks = collect_facts(results.records_by_suite), peaks_in(results.records)
    declared = "".join(f"\n{render_text(table, width)}" for table in instrument_tables(results.records_by_suite))
    rates = render_rates(rates_of(facts, peaks), peaks, width)
    observed = render_observed(facts, width) + render_curves(curve_sets(facts))
    return declared + rates + render_energy(facts, width) + observed


def _runtimes(results: Results, width: int) -> str:
    """Return the variants side by side, if any are compiled."""
    from photometer.analysis.run_table import recorded_plan
    from photometer.analysis.speedup import runtime_rows
    from photometer.instruments.speedup import runtime_groups
    from photometer.report.runtime_text import render_runtimes

    plan = recorded_plan(results)
    return render_runtimes(runtime_rows(plan, results.records), width) if runtime_groups(plan) else ""


def _ladder(results: Results, width: int) -> str:
    from photometer.analysis.ladder import check_expectations, ladder_of
    from photometer.report.run_text import render_expectations, render_ladder

    ladder = ladder_of(results.records_by_suite)
    if ladder is None:
        return ""
    text = "\nEach rung compared with the one below it:\n" + render_ladder(ladder, width)
    return text + ("\n" + render_expectations(check_expectations(ladder)) if "torch.add" in ladder.by_call() else "")
