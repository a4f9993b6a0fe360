"""Overview figures as data: points in a plane, and rows with intervals. No pixel, no colour.

`figures_of` (overview_figures.py) makes them; the page's script and figure_svg.py each draw the same description.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

Measures = Literal["seconds", "change", "ratio", "number"]


@dataclasses.dataclass(frozen=True)
class Axis:
    """`measures` decides how ticks are written: a change of 0.05 is "+5 %"."""

    label: str
    measures: Measures
    scale: Literal["linear", "log"] = "linear"


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float
    label: str
    id: str = ""


@dataclasses.dataclass(frozen=True)
class Series:
    """Points of one kind. `style` names a colour of the page; `shape` tells kinds apart where colours do not."""

    name: str
    style: str
    shape: Literal["circle", "diamond", "up", "down"]
    points: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class PointFigure:
    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    x_rules: tuple[float, ...] = ()
    y_rules: tuple[float, ...] = ()
    kind: Literal["points"] = "points"


@dataclasses.dataclass(frozen=True)
class Row:
    """A mark with its interval, or with `start` a bar from there. None as an end: it is not known how far it goes."""

    label: str
    at: float
    low: float | None
    high: float | None
    style: str
    note: str = ""
    start: float | None = None
    id: str = ""


@dataclasses.dataclass(frozen=True)
class RowFigure:
    """`name` is that of the file it is written to."""

    name: str
    title: str
    axis: Axis
    rows: tuple[Row, ...]
    rules: tuple[float, ...] = ()
    domain: tuple[float, float] | None = None
    kind: Literal["rows"] = "rows"


Figure = PointFigure | RowFigure


def figure_json(figure: Figure) -> dict[str, Any]:
    return dataclasses.asdict(figure)
