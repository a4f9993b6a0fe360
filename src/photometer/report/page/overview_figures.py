"""The overview figures of a report: the forest, time against instructions, the fuzz map and the ladders.

In: views. Out: figures as data, which the page and `plot_files.py` draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from photometer.analysis.fuzz_map import figure_of
from photometer.analysis.verdict import CHANGED_WORDS, VERDICT_WORDS, style_name
from photometer.model.order_name import label_text
from photometer.model.units import change, format_count, format_difference, format_seconds
from photometer.report.page.figure import Axis, Figure, Point, PointFigure, Row, RowFigure, Series
from photometer.report.page.record_identity import USUAL_WORDS
from photometer.report.page.view_comparison import ComparisonView
from photometer.report.page.view_fuzz import FuzzView
from photometer.report.page.view_ladder import LadderView, RungView
from photometer.report.page.view_report import ReportView
from photometer.report.page.view_run import BenchmarkView

# A longer forest would be searched, not read: the page's table has all rows.
MOST_FOREST_ROWS = 60
# A plot of changes shows at least this much, so that a quiet suite does not look like a noisy one.
SMALLEST_REACH = 0.02
# A larger multiple of the usual change is drawn at the edge: one outlier would squeeze all other changes together.
MOST_TIMES_USUAL = 6
# A scatter plot of fewer points says less than the table; one of more is a blot, and makes the page heavy.
FEWEST_POINTS, MOST_POINTS = 5, 3000
_SHAPES = {
    "slower": "up",
    "probably slower": "up",
    "undecided": "diamond",
    "probably faster": "down",
    "faster": "down",
    "same": "circle",
    "identical": "circle",
}


def page_figures(view: ReportView) -> dict[str, Figure]:
    """Return the figures that the page draws, by name. The forest is not among them: the page's table shows it."""
    figures: Sequence[Figure | None] = (
        time_against_instructions(view.comparisons),
        instructions_against_time(view.benchmarks),
        *(ladder_figure(ladder, number) for number, ladder in enumerate(view.ladders, start=1)),
        *(fuzz_map_figure(fuzz) for fuzz in view.fuzz),
        *view.figures.curves,
        *view.figures.rooflines,
    )
    named: dict[str, Figure] = {}
    for figure in figures:
        if figure is not None:
            named[figure.name if figure.name not in named else f"{figure.name}-{len(named) + 1}"] = figure
    return named


def all_figures(view: ReportView) -> dict[str, Figure]:
    """Return the figures that are written to files, by name: those of the page, and the forest."""
    head: dict[str, Figure] = (
        {"forest": forest(view.comparisons)} if any(each.has_change for each in view.comparisons) else {}
    )
    return {**head, **page_figures(view)}


def reach_of(views: Sequence[ComparisonView]) -> float:
    """Return how far an axis of changes goes: to the largest certain change, unless that dwarfs the usual one."""
    sure = sorted(
        max(abs(end - 1.0) for end in view.interval if math.isfinite(end)) if math.isfinite(sum(view.interval)) else 0.0
        for view in views
        if view.verdict in CHANGED_WORDS
    )
    if not sure:
        return SMALLEST_REACH
    usual = sure[len(sure) // 2]
    return _round_up(max(SMALLEST_REACH, min(sure[-1], MOST_TIMES_USUAL * usual)))


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    for step in (1, 1.5, 2, 3, 4, 5, 8, 10):
        if step * power >= value * (1 - 1e-9):
            return step * power
    return 10 * power


def forest(views: Sequence[ComparisonView]) -> RowFigure:
    """Return changes with intervals. If there are too many, unchanged benchmarks are left out first."""
    views = [view for view in views if view.has_change]
    shown = sorted(views, key=lambda view: view.rank)[:MOST_FOREST_ROWS]
    reach = reach_of(views)
    rows = tuple(
        Row(
            label=label_text(view.path) + (f" ({', '.join(_telling(view))})" if _telling(view) else ""),
            at=view.ratio - 1.0,
            low=_end(view.interval[0]),
            high=_end(view.interval[1]),
            style=style_name(view.verdict),
            note=f"{view.shown_verdict} {change(view.ratio)}",
            id=view.id,
        )
        for view in shown
    )
    left_out = len(views) - len(shown)
    title = "Change of every benchmark" if not left_out else f"The {len(shown)} largest changes of {len(views)}"
    axis = Axis("change of wall time against the base", "change")
    return RowFigure("forest", title, axis, rows, (0.0,), (-reach, reach))


def _telling(view: ComparisonView) -> list[str]:
    return [word for word in view.words if word not in USUAL_WORDS]


def _end(ratio: float) -> float | None:
    return ratio - 1.0 if math.isfinite(ratio) and ratio > 0 else None


def time_against_instructions(views: Sequence[ComparisonView]) -> PointFigure | None:
    """Return the changes of both; None if no instructions were counted."""
    series = []
    # The most important points are drawn last, on top.
    for word in reversed(VERDICT_WORDS):
        points = tuple(
            Point(view.instruction_ratio - 1.0, view.ratio - 1.0, label_text(view.path), view.id)
            for view in views
            if view.verdict == word and view.instruction_ratio is not None
        )
        series.append(Series(word, style_name(word), _SHAPES[word], points))  # type: ignore[arg-type]
    if not any(each.points for each in series):
        return None
    return PointFigure(
        "time-against-instructions",
        "Change of wall time against change of instructions",
        Axis("change of instructions", "change"),
        Axis("change of wall time", "change"),
        tuple(series),
        (0.0,),
        (0.0,),
    )


def instructions_against_time(views: Sequence[BenchmarkView]) -> PointFigure | None:
    """Return every benchmark of a run that has both; None if there are too few, or too many to distinguish."""
    both = [view for view in views if view.time is not None and view.counts is not None]
    if not FEWEST_POINTS <= len(both) <= MOST_POINTS:
        return None
    series = []
    for language, style, shape in (("python", "base", "circle"), ("cpp", "branch", "diamond")):
        points = tuple(
            Point(view.counts.outside_allocator, view.time.seconds, label_text(view.path), view.id)
            for view in both
            if view.counts is not None
            and view.time is not None
            and view.counts.outside_allocator > 0
            and view.time.seconds > 0
            if (view.code.language == "cpp") is (language == "cpp")
        )
        series.append(Series("C++" if language == "cpp" else "Python", style, shape, points))  # type: ignore[arg-type]
    return PointFigure(
        "time-of-instructions",
        "Wall time of one run against its instructions",
        Axis("instructions", "number", "log"),
        Axis("wall time", "seconds", "log"),
        tuple(series),
    )


def fuzz_map_figure(view: FuzzView) -> PointFigure | None:
    found = view.found
    if not found.trials:
        return None
    series = []
    for contiguous, name, style, shape in (
        (True, "contiguous", "base", "circle"),
        (False, "not contiguous", "branch", "diamond"),
    ):
        points = tuple(
            Point(max(trial.elements, 1), math.exp(figure_of(trial)), f"#{trial.index} {found.describe(trial)}")
            for trial in found.trials
            if trial.is_contiguous is contiguous
        )
        series.append(Series(name, style, shape, points))  # type: ignore[arg-type]
    label = "ratio of the times" if found.is_comparison else "time per element"
    return PointFigure(
        "fuzz-map",
        f"Every input: {label} against its size",
        Axis("elements of the largest tensor", "number", "log"),
        Axis(label, "ratio" if found.is_comparison else "seconds", "log"),
        tuple(series),
        (),
        (1.0,) if found.is_comparison else (),
    )


def ladder_figure(ladder: LadderView, number: int) -> RowFigure:
    """Return bars from the rung below to this rung: their length is the added time."""
    rows = []
    for rung in ladder.rungs:
        half = 0.0 if rung.added_interval is None else (rung.added_interval[1] - rung.added_interval[0]) / 2
        falls = rung.added_seconds is not None and rung.added_seconds < 0
        rows.append(
            Row(
                label=rung.name,
                at=rung.seconds,
                low=rung.seconds - half,
                high=rung.seconds + half,
                style="base" if rung.added_seconds is None else "faster" if falls else "slower",
                note=rung_note(rung),
                start=rung.start_seconds,
                id=rung.id,
            )
        )
    highest = max(rung.seconds for rung in ladder.rungs)
    axis = Axis("time of one run", "seconds")
    return RowFigure(f"ladder-{number}", ladder.call, axis, tuple(rows), (), (0.0, highest * 1.08))


def rung_note(rung: RungView) -> str:
    """Return `+1.23 µs, +4,512 instr.`, or the time of the lowest rung."""
    if rung.added_seconds is None:
        return format_seconds(rung.seconds, 3)
    text = format_difference(rung.added_seconds)
    if rung.added_instructions is not None:
        text += f", {format_count(round(rung.added_instructions), signed=True)} instr."
    return text
