"""Figures of a benchmark besides its time: FLOPs and bytes of one run, its own metrics, the phases of a step.

In: what the author wrote (`flops="2 * n ** 3"`, `metrics=("loss", "tokens")`). Out: checked, frozen values. None of
them changes what is timed.
"""

from __future__ import annotations

import dataclasses
import keyword
import math

from photometer.definition.place import definition_error
from photometer.definition.python_names import names_of
from photometer.definition.size_expression import SizeExpression
from photometer.definition.sweep import SizePoint

Amount = int | float | str


@dataclasses.dataclass(frozen=True)
class Phase:
    """A part of a statement that is timed by itself: `forward`, `backward`."""

    name: str
    stmt: str


@dataclasses.dataclass(frozen=True)
class AskedFigures:
    """`flops` and `bytes` are expressions in the sizes; `metrics` are variables that the statement assigns numbers."""

    flops: str | None = None
    bytes: str | None = None
    metrics: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    instructions: bool = True
    collective: str | None = None

    def amount_at(self, name: str, sizes: SizePoint) -> float | None:
        """Return the FLOPs or bytes of one run at a point of the sweep; None if the author gave none."""
        text = getattr(self, name)
        if text is None:
            return None
        value = SizeExpression(text, name).at(dict(sizes))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise definition_error(
                f"{name}={text!r} is {value!r} at {dict(sizes)}", remedy="It must be a number above 0, for one run."
            )
        return float(value)


NO_FIGURES = AskedFigures()


def asked_figures(
    *,
    flops: Amount | None = None,
    bytes: Amount | None = None,
    metrics: str | tuple[str, ...] = (),
    instructions: bool = True,
    collective: str | None = None,
) -> AskedFigures:
    """Return the figures that the author defines, with numbers as text."""
    return AskedFigures(
        _amount(flops, "flops"), _amount(bytes, "bytes"), metric_names(metrics), (), instructions, collective
    )


def metric_names(metrics: object) -> tuple[str, ...]:
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics) if isinstance(metrics, tuple | list) else None
    if (
        names is None
        or not all(isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) for name in names)
        or len(set(names)) != len(names)
    ):
        raise definition_error(
            f"metrics is {metrics!r}", remedy='Write metrics=("loss", "tokens"): variables that the statement assigns.'
        )
    return names


def check_figures(figures: AskedFigures, stmt: str | None, sizes: tuple[SizePoint, ...]) -> None:
    """Check the expressions at every point of the sweep, and that the Python statement assigns the metrics."""
    for name in ("flops", "bytes"):
        for point in sizes:
            figures.amount_at(name, point)
    if not figures.metrics:
        return
    if stmt is None:
        raise definition_error("metrics without a Python statement", remedy="Metrics are read from Python variables.")
    found = names_of(stmt)
    for metric in figures.metrics:
        if metric not in found.bound and not found.opaque:
            raise definition_error(
                f"metrics names {metric}, which the Python statement does not assign",
                remedy=f"Assign it in the statement: {metric} = ….",
            )


def _amount(value: Amount | None, name: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise definition_error(
            f"{name} is {value!r}", remedy=f'Give a number, or an expression in the sizes: {name}="2 * n ** 3".'
        )
    return value if isinstance(value, str) else repr(value)
