"""Settings of a comparison: whose margin counts."""

from __future__ import annotations

import dataclasses

from photometer.analysis.judge import DEFAULT_MARGIN, DEFAULT_THREADS_MARGIN
from photometer.comparing.request import ComparisonSettings
from photometer.definition.timer_args import TimerArgs
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrder


def order(threads: int = 1, *, margin: float | None = None, tags: tuple[str, ...] = ()) -> WorkOrder:
    (found,) = materialize({"add": TimerArgs("x + y", num_threads=threads)})
    return dataclasses.replace(found, margin=margin, tags=tags)


def test_several_threads_have_a_wider_margin_unless_one_is_given() -> None:
    settings = ComparisonSettings()
    assert (settings.margin_of(order()), settings.margin_of(order(2))) == (DEFAULT_MARGIN, DEFAULT_THREADS_MARGIN)
    assert ComparisonSettings(margin=0.001).margin_of(order(2)) == 0.001
    assert settings.margin_of(order(2, margin=0.004)) == 0.004


def test_a_benchmarks_name_then_its_own_then_a_tag_then_all() -> None:
    settings = ComparisonSettings(
        margin=0.01, margin_by_tag={"noisy": 0.05, "quick": 0.02}, margin_by_benchmark=(("add", 0.1),)
    )
    assert settings.margin_of(order(margin=0.03, tags=("noisy",))) == 0.1
    unnamed = dataclasses.replace(settings, margin_by_benchmark=())
    assert unnamed.margin_of(order(margin=0.03, tags=("noisy",))) == 0.03
    assert unnamed.margin_of(order(tags=("quick", "noisy"))) == 0.05
    assert unnamed.margin_of(order()) == 0.01


def test_a_single_benchmark_may_have_all_that_one_may_have() -> None:
    settings = ComparisonSettings()
    assert settings.budget_for(1) == settings.most_seconds_each
    assert settings.budget_for(10) == 10 * settings.budget_for(1) / 2
    assert ComparisonSettings(budget_seconds=3.0).budget_for(1) == 3.0
