"""Rates, energy, metrics, phases and curves as text."""

from __future__ import annotations

from photometer.analysis.curves import curve_sets
from photometer.analysis.order_facts import collect_facts
from photometer.analysis.rates import rates_of
from photometer.model.records import to_record
from photometer.model.run_figures import EnergyOfRun
from photometer.model.task import TaskSpec
from photometer.model.units import format_amount, format_digits
from photometer.report.figures_text import (
    peak_text,
    render_curves,
    render_observed,
    render_rates,
    table_of_energy,
    table_of_metrics,
    table_of_phases,
    table_of_rates,
)
from tests.analysis.order_records import PEAK, curve, metered, order, phased, timed, worked
from tests.report.table_texts import heads, texts


def test_rates_name_what_was_counted_and_what_they_are_compared_with() -> None:
    one, two = order("product"), order("copy")
    records = [timed(one, 1e-3), worked(one, 50e6, 1e6), timed(two, 1e-3), worked(two, None, 2e7, bytes_given=True)]
    rates = rates_of(collect_facts(records), [PEAK])
    table = table_of_rates(rates, [PEAK])
    assert heads(table) == ["benchmark", "FLOPs", "rate of FLOPs", "bytes", "rate of bytes", "of the peak", "bound"]
    assert texts(table) == [
        ["product", "~50.0 M", "50.0 GFLOP/s", "~1.00 MB", "1.00 GB/s", "50 %", "compute"],
        ["copy", "", "", "20.0 MB", "20.0 GB/s", "200 %", "memory"],
    ]
    text = render_rates(rates, [PEAK], 100)
    assert "Peak: cpu, 1 thread, float32: 100 GFLOP/s, 10.0 GB/s (a processor; 2026-01-31)" in text
    assert "~ counted in one run" in text
    assert "came from a cache" in text
    assert "busy machine" not in text
    assert render_rates([], [PEAK], 100) == ""


def test_more_than_the_peak_of_compute_is_a_peak_that_was_measured_badly() -> None:
    one = order()
    rates = rates_of(
        collect_facts([timed(one, 1e-3), worked(one, 200e6, 1e3, flops_given=True, bytes_given=True)]), [PEAK]
    )
    *_, note = table_of_rates(rates, [PEAK]).notes
    assert note == (
        "More than 100 %: the peak was measured on a busy machine; `photometer doctor --peaks --again` repeats it."
    )


def test_numbers_have_three_digits_and_a_prefix() -> None:
    assert [format_amount(value, "B") for value in (1.0, 999.0, 1.234e6, 5e13, 0.0012)] == [
        "1.00 B",
        "999 B",
        "1.23 MB",
        "50.0 TB",
        "1.20 mB",
    ]
    assert [format_digits(value) for value in (0.0, 0.01234, 12345.6)] == ["0", "0.0123", "12,346"]
    assert "thread" not in peak_text(PEAK.__class__("cuda", 1, "bfloat16", 7e14, 4e12))


def test_energy_has_its_resolution() -> None:
    one = order()
    energy = EnergyOfRun(TaskSpec("x"), 0.6, 0.03, 600.0, 100.0, 2000, 2.0)
    table = table_of_energy(collect_facts([timed(one, 1e-3), {**to_record(energy), "order": one}]))
    assert heads(table) == ["benchmark", "per run", "resolution", "drawn", "idle"]
    assert texts(table) == [["a", "600 mJ", "± 30.0 mJ", "600 W", "100 W"]]


def test_metrics_and_phases_are_tables() -> None:
    one, two = order("step", {"n": 4}), order("other")
    facts = collect_facts(
        [
            metered(one, loss=(2.5, 2.25), tokens=(512.0, 512.0)),
            phased(one, forward=1e-3, backward=3e-3),
            metered(two, tokens=(8.0,)),
        ]
    )
    metrics, phases = table_of_metrics(facts), table_of_phases(facts)
    assert heads(metrics) == ["benchmark", "loss", "tokens"]
    assert texts(metrics) == [["step [n=4]", "2.5 to 2.25", "512"], ["other", "", "8"]]
    assert texts(phases) == [["step [n=4]", "1.00 ms  25 %", "3.00 ms  75 %", "4.00 ms"]]
    assert render_observed(facts, 100).splitlines()[1] == "Phases of a step"
    assert render_observed([], 100) == ""


def test_curves_are_sentences_below_their_benchmark() -> None:
    sets = curve_sets(collect_facts(curve("a\x1b[31m", {n: 1e-9 * n for n in (16, 64, 256, 1024)})))
    assert render_curves(sets) == "\na\\x1b[31m, over n:\n  a\\x1b[31m grows as n\n"
