from __future__ import annotations

from photometer.instruments.device.findings import bound_in_words
from photometer.model.device_measurement import Peak

PEAK = Peak(4e12, 8e14, "bfloat16")


def test_the_slower_side_is_the_bound() -> None:
    assert bound_in_words(5.2e-6, 1e-6) == "launch-bound: kernels 1.00 µs, host 5.20 µs"
    assert bound_in_words(5.2e-6, 500e-6).startswith("device-bound: kernels 500 µs")
    assert bound_in_words(5.2e-6, 5.3e-6).startswith("bound by host and device alike")


def test_waiting_is_a_bound_of_its_own() -> None:
    assert bound_in_words(50e-6, 10e-6, synchronises=True).startswith("bound by waiting")


def test_no_work_has_no_bound() -> None:
    assert bound_in_words(5e-6, None) == "no device work was seen"
    assert bound_in_words(5e-6, 0.0) == "no device work was seen"


def test_a_share_of_a_measured_peak_names_the_resource() -> None:
    assert bound_in_words(5e-6, 1e-3, bytes_per_run=3.8e9, peak=PEAK).startswith(
        "memory-bound: 95 % of the copy rate measured on this card"
    )
    assert bound_in_words(5e-6, 1e-3, flops_per_run=7.6e11, peak=PEAK).startswith("compute-bound: 95 %")
    both = bound_in_words(5e-6, 1e-3, bytes_per_run=4e8, flops_per_run=7.6e11, peak=PEAK)
    assert both.startswith("compute-bound: 10 % of the copy rate measured on this card, 95 % of the matrix rate")


def test_far_from_every_peak_is_said_too() -> None:
    text = bound_in_words(5e-6, 1e-3, bytes_per_run=1e9, peak=PEAK)
    assert text.startswith("device-bound, but by neither memory nor arithmetic: 25 %")


def test_memory_is_judged_by_the_cold_time() -> None:
    # Hot, the bytes come from the cache: 150 % of the memory's rate would be no sense.
    text = bound_in_words(1e-6, 1e-3, cold_seconds=2e-3, bytes_per_run=6e9, peak=PEAK)
    assert text.startswith("memory-bound: 75 %")


def test_a_launch_bound_statement_stays_so_whatever_its_rates() -> None:
    assert bound_in_words(5e-3, 1e-3, bytes_per_run=4e9, peak=PEAK).startswith("launch-bound")
