"""Rates: work divided by time, the bound and the share of the peak."""

from __future__ import annotations

import pytest

from photometer.analysis.order_facts import collect_facts
from photometer.analysis.rates import peaks_in, rates_of
from photometer.model.records import to_record
from tests.analysis.order_records import PEAK, order, timed, worked


def test_a_statement_with_many_flops_per_byte_is_bound_by_compute() -> None:
    one = order()
    (rate,) = rates_of(collect_facts([timed(one, 1e-3), worked(one, 50e6, 1e6, dtype="float32")]), [PEAK])
    assert rate.flops_per_second == pytest.approx(50e9, rel=0.01)
    assert rate.bytes_per_second == pytest.approx(1e9, rel=0.01)
    assert rate.bound == "compute"
    assert rate.share_of_peak == pytest.approx(0.5, rel=0.01)
    assert rate.is_derived


def test_one_with_few_is_bound_by_memory() -> None:
    one = order()
    (rate,) = rates_of(collect_facts([timed(one, 1e-3), worked(one, 1e6, 1e6)]), [PEAK])
    assert rate.bound == "memory"
    assert rate.share_of_peak == pytest.approx(0.1, rel=0.01)
    (copied,) = rates_of(collect_facts([timed(one, 1e-3), worked(one, None, 5e6, bytes_given=True)]), [PEAK])
    assert (copied.bound, copied.intensity, copied.is_derived) == ("memory", None, False)


def test_variants_share_the_work_of_the_eager_one_at_the_same_size() -> None:
    eager, compiled = (order("a", {"n": 4}, runtime=name) for name in ("eager", "compiled"))
    other = order("a", {"n": 8}, runtime="compiled")
    records = [timed(compiled, 1e-3), timed(eager, 1e-3), worked(eager, 2e6, None), timed(other, 1e-3)]
    assert [rate.facts.runtime for rate in rates_of(collect_facts(records), [])] == ["compiled", "eager"]


def test_the_peak_is_that_of_the_threads_and_the_type() -> None:
    two = order(num_threads=2)
    facts = collect_facts([timed(two, 1e-3), worked(two, 1e6, 1e3, dtype="bfloat16")])
    assert rates_of(facts, [PEAK])[0].peak is None
    fitting = [
        to_record(PEAK),
        {**to_record(PEAK), "num_threads": 2},
        {**to_record(PEAK), "num_threads": 2, "dtype": "bfloat16"},
    ]
    found = rates_of(facts, peaks_in(fitting))[0].peak
    assert found is not None
    assert (found.num_threads, found.dtype) == (2, "bfloat16")


def test_without_a_time_or_work_there_is_no_rate() -> None:
    one, other = order(), order("b")
    assert rates_of(collect_facts([timed(one, 1e-3), worked(other, 1e6, 1.0), worked(one, None, None)]), [PEAK]) == []
