"""`photometer compare --calibrate BASE`: compare a side with itself, and show the rate of false alarms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from photometer.cli.printing import show_text

if TYPE_CHECKING:
    from photometer.comparing.calibrate import Calibration


def calibrate_side(
    base: str,
    suite: str | None,
    *,
    expression: str | None,
    tags: Sequence[str],
    budget: float | None,
    margin: float | None,
    install: str | None,
) -> None:
    """Compare a side with itself, and print the rate of false alarms."""
    if suite is None:
        raise typer.BadParameter("--calibrate needs --suite SUITE")
    from photometer.cli.progress import comparison_progress
    from photometer.comparing.calibrate import calibrate_environment

    given = {"budget": budget, "margin": margin}
    with comparison_progress() as observer:
        calibration = calibrate_environment(
            base,
            suite,
            expression=expression,
            tags=tags,
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
