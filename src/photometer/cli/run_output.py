"""The output of a run, made from its results file alone: `run` and `show` print the same."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from photometer.cli.printing import terminal_width

if TYPE_CHECKING:
    from photometer.model.results_reader import Results


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
