"""`photometer calibrate [BASE]`: compare an environment with itself, and show the rate of false alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.measuring_options import Install, Margin, budget_option
from photometer.cli.printing import show_text
from photometer.cli.suite_options import Expression, OneSuite, Tags, Timeout, chosen_suite
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.comparing.calibrate import Calibration


def register(app: typer.Typer) -> None:
    app.command("calibrate", help="Compare an environment with itself: how often does noise alone raise an alarm?")(
        calibrate
    )


def calibrate(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="Environment, as `photometer compare` takes it (default: this one).")
    ] = "current",
    suite: OneSuite = None,
    expression: Expression = None,
    tags: Tags = None,
    budget: Annotated[float | None, budget_option("Seconds to measure (default: 120).")] = None,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    margin: Margin = None,
    install: Install = None,
) -> None:
    chosen = chosen_suite(suite, tags)
    from photometer.cli.progress import comparison_progress
    from photometer.comparing.calibrate import calibrate_environment

    given = {"budget": budget, "margin": margin}
    with comparison_progress() as observer:
        calibration = calibrate_environment(
            base,
            chosen.only,
            expression=expression,
            tags=chosen.tags,
            timeout=timeout,
            install=install,
            observer=observer,
            **{name: value for name, value in given.items() if value is not None},
        )
    show_text(_calibration_text(calibration))


def _calibration_text(calibration: Calibration) -> str:
    rate = calibration.rate
    return (
        f"{rate.alarms} false alarms in {rate.comparisons} comparisons of identical sides: "
        f"{100 * rate.rate:.1f} % (95 % interval {100 * rate.interval[0]:.1f} to {100 * rate.interval[1]:.1f} %)\n"
        f"{calibration.probable.alarms} probably slower or faster ({100 * calibration.probable.rate:.1f} %), "
        f"{calibration.same} same, {calibration.undecided} undecided, {calibration.measuring_seconds:.0f} s measured; "
        f"replicates scatter by {100 * calibration.replicate_spread:.2f} %"
    )
