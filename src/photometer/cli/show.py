"""`photometer show FILE…`: results files as tables, for the terminal or as Markdown, HTML, CSV or JSON."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from photometer.cli.ab_output import is_ab, show_ab
from photometer.cli.measuring_options import JsonFormat
from photometer.cli.printing import complain, show_rendered, terminal_width
from photometer.model.results_folder import RESULT_FILES

if TYPE_CHECKING:
    from photometer.model.measurement import Measurement
    from photometer.model.results_reader import Results
    from photometer.tables import Compare


class Format(str, enum.Enum):
    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"
    JSON = "json"
    GITHUB_ACTION_BENCHMARK = "github-action-benchmark"
    BENCHER = "bencher"
    PYTORCH_HUD = "pytorch-hud"


class Ratio(str, enum.Enum):
    TIMES = "x"
    PERCENT = "%"


EXPORT_NAMES = ("github-action-benchmark", "bencher", "pytorch-hud")
COMPARISON_FORMATS = (Format.TERMINAL, Format.MARKDOWN, Format.JSON)
_BY_SUFFIX = {".md": Format.MARKDOWN, ".html": Format.HTML, ".csv": Format.CSV, ".json": Format.JSON}


def register(app: typer.Typer) -> None:
    app.command("show", help="Show results files as tables.")(show)


def show(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Results files, or folders of runs; equal tasks are merged.")
    ],
    format: Annotated[Format | None, typer.Option("--format", "-f", help="Output format (default: by -o).")] = None,
    as_json: JsonFormat = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write.")] = None,
    by_file: Annotated[bool, typer.Option("--by-file", help="Keep files apart: the name is the env.")] = False,
    relative: Annotated[Ratio | None, typer.Option(help="Show ratios too: x (1.25×) or % (+25.0%).")] = None,
    baseline: Annotated[str | None, typer.Option(metavar="ROW", help="Row for ratios (default: fastest).")] = None,
    baseline_env: Annotated[str | None, typer.Option(metavar="ENV", help="Env (or file) for ratios.")] = None,
    transpose: Annotated[bool, typer.Option("--transpose", help="Turn rows into columns.")] = False,
    variants: Annotated[
        bool,
        typer.Option("--variants", help="One line per variant of a run: sizes, times, rates, metrics (CSV or JSON)."),
    ] = False,
    recover: Annotated[bool, typer.Option("--recover", help="Use the intact records of a damaged file.")] = False,
) -> None:
    format = Format.JSON if as_json else format  # noqa: A001 - the name of the option
    from photometer.analysis.torch_builds import torch_names
    from photometer.errors import ResultsFileError
    from photometer.model.results_reader import load_results
    from photometer.model.visit_journal import with_unfinished
    from photometer.tables import Compare, shows_colour

    loaded = [with_unfinished(load_results(_file_of(path), recover)) for path in files]
    if variants:
        _write(_variants(loaded, format), output)
        return
    chosen = format or _BY_SUFFIX.get(output.suffix if output is not None else "", Format.TERMINAL)
    if chosen.value in EXPORT_NAMES:
        _write(_exported(loaded, chosen), output)
        return
    asked = (by_file, relative, baseline, baseline_env, transpose)
    if chosen in (Format.TERMINAL, Format.MARKDOWN) and not any(asked) and _are_runs(loaded):
        _tell_damage(loaded)
        _write("\n".join(_run_text(results, chosen) for results in loaded), output)
        return
    if chosen is not Format.HTML and not any(asked) and all(is_ab(results) for results in loaded):
        _tell_damage(loaded)
        colour = output is None and shows_colour()
        _write("\n".join(show_ab(results, chosen.value, colour=colour) for results in loaded), output)
        return
    if chosen in COMPARISON_FORMATS and not any(asked):
        compared = [_comparison_text(results, chosen, to_terminal=output is None) for results in loaded]
        if all(compared):
            _tell_damage(loaded)
            _write("\n".join(each for each in compared if each), output)
            return
    # What was measured with different builds of torch is never merged.
    names: Sequence[str | None]
    names = [each.path.stem for each in loaded] if by_file else torch_names([each.machine for each in loaded])
    shown: list[object] = []
    for results, name in zip(loaded, names, strict=True):
        shown += _with_samples(results.path, _measurements(results, name))
        shown += _others(results, name)
    _tell_what_is_left_out(loaded)
    if not shown:
        raise ResultsFileError(
            f"no measurements in {', '.join(map(str, files))}",
            remedy="Measure something first: photometer time --help.",
        )
    comparison = Compare(shown)
    comparison.trim_significant_figures()
    comparison.colorize()
    comparison.highlight_warnings()
    if baseline is not None or baseline_env is not None:
        comparison.baseline(baseline, env=baseline_env)
    if relative is not None:
        comparison.relative(style="%" if relative is Ratio.PERCENT else "×")
    if transpose:
        comparison.transpose()
    text = _render(comparison, chosen, _machine_lines(loaded), to_terminal=output is None)
    _write(text, output)


def _exported(loaded: list[Results], format: Format) -> str:
    """Return the figures for a service that keeps those of many commits."""
    from photometer.ci.export_formats import EXPORTS
    from photometer.ci.exported_figures import figures_of_results

    _tell_damage(loaded)
    return EXPORTS[format.value](figures_of_results(loaded))


def _file_of(path: Path) -> Path:
    """Return the results file of a folder of a run or of a comparison; a file as it is."""
    if not path.is_dir():
        return path
    return next((path / name for name in RESULT_FILES if (path / name).exists()), path / RESULT_FILES[0])


def _comparison_text(results: Results, format: Format, to_terminal: bool) -> str | None:
    """Return the comparison in a file as `compare` printed it; None if the file has something else."""
    from photometer.analysis.comparison_reader import read_comparison
    from photometer.report.comparison_text import (
        render_comparison,
        render_comparison_json,
        render_comparison_markdown,
    )
    from photometer.tables import shows_colour

    comparison = read_comparison(results)
    if comparison is None:
        return None
    if format is Format.JSON:
        return render_comparison_json(comparison)
    if format is Format.MARKDOWN:
        return render_comparison_markdown(comparison)
    return render_comparison(comparison, terminal_width(), colour=to_terminal and shows_colour())


def _are_runs(loaded: list[Results]) -> bool:
    from photometer.analysis.run_table import is_run

    return all(is_run(results) for results in loaded)


def _run_text(results: Results, format: Format) -> str:
    """Return the file as `run` printed it."""
    from photometer.cli.run_output import run_text
    from photometer.model.visible_text import visible

    machine = results.machine.summary() if results.machine is not None else ""
    if format is Format.MARKDOWN:
        from photometer.analysis.run_table import tabulate_run
        from photometer.report.escape import markdown_text
        from photometer.report.instrument_tables import instrument_tables
        from photometer.report.run_text import render_run_markdown
        from photometer.report.tables.as_markdown import render_markdown

        head = f"{markdown_text(f'{results.path.name}: {machine}')}\n\n{render_run_markdown(tabulate_run(results))}"
        return head + "".join(f"\n{render_markdown(table)}" for table in instrument_tables(results.records_by_suite))
    return f"{visible(f'{results.path.name}: {machine}')}\n{run_text(results)}"


def _variants(loaded: list[Results], format: Format | None) -> str:
    from photometer.analysis.variant_rows import variant_rows
    from photometer.report.tables.as_csv import render_variants_csv, render_variants_json

    rows = [
        {**row, **({"file": results.path.name} if len(loaded) > 1 else {})}
        for results in loaded
        for row in variant_rows(results.records_by_suite)
    ]
    return render_variants_json(rows) if format is Format.JSON else render_variants_csv(rows)


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
    from photometer.model.callgrind_stats import CallgrindStats
    from photometer.model.device_measurement import DeviceMeasurement
    from photometer.model.instruction_counts import InstructionCounts
    from photometer.model.processor_counts import ProcessorCounts

    kinds = (DeviceMeasurement, InstructionCounts, CallgrindStats, ProcessorCounts, Ranking)
    return {noun.KIND: noun for noun in kinds}


def _with_samples(path: Path, measurements: list[Measurement]) -> list[Measurement]:
    """Return those that can be shown; a run that was interrupted before its first block leaves one without samples."""
    for measurement in measurements:
        if not measurement.raw_times:
            complain(f"{path}: not in the tables: {measurement.title!r} has no samples; measure it again")
    return [measurement for measurement in measurements if measurement.raw_times]


def _tell_damage(loaded: list[Results]) -> None:
    for results in loaded:
        for damage in results.damage:
            complain(f"{results.path}: {damage}")


def _tell_what_is_left_out(loaded: list[Results]) -> None:
    _tell_damage(loaded)
    others = sum((results.kinds for results in loaded), Counter())
    for kind, count in others.items():
        if kind != "measurement" and kind not in _table_kinds():
            complain(f"not in the tables: {count} of kind {kind!r}")


def _machine_lines(loaded: list[Results]) -> list[str]:
    return [f"{results.path.name}: {results.machine.summary()}" for results in loaded if results.machine is not None]


def _render(comparison: Compare, format: Format, machines: list[str], to_terminal: bool) -> str:
    if format is Format.CSV:
        return comparison.to_csv()
    if format is Format.JSON:
        return comparison.to_json()
    if format is Format.HTML:
        from photometer.report.tables.markup import render_page

        return render_page(comparison.tables(), "photometer", machines)
    if format is Format.MARKDOWN:
        from photometer.report.escape import markdown_text

        return "".join(f"{markdown_text(line)}\n\n" for line in machines) + comparison.to_markdown()
    from photometer.model.visible_text import visible
    from photometer.tables import shows_colour

    above = "".join(visible(line) + "\n" for line in machines)
    return above + comparison.to_text(colour=to_terminal and shows_colour())


def _write(text: str, output: Path | None) -> None:
    if output is None:
        show_rendered(text)
        return
    from photometer.model.whole_file import write_text_whole

    write_text_whole(output, text)
