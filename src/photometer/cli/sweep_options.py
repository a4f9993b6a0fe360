"""Options of a sweep that several subcommands share, -L name=1,2,4 and --where, and the text about its points."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from photometer.cli.printing import show_rendered, show_text

if TYPE_CHECKING:
    from photometer.analysis.ranking import Ranking
    from photometer.definition.axes import SweepAxis
    from photometer.definition.suite import Suite
    from photometer.definition.sweep import SizePoint
    from photometer.model.measurement import Measurement

Axes = Annotated[
    list[str] | None,
    typer.Option(
        "-L",
        metavar="NAME=VALUES",
        help="Sizes to measure, such as n=64,256 or n=16..4096*2; repeat for every combination.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="EXPR", help="Only sizes for which this is true, such as 'n*m <= 4096'."),
]


def chosen_axes(texts: list[str] | None) -> tuple[SweepAxis, ...]:
    """Return the axes of the command line."""
    if not texts:
        return ()
    from photometer.definition.axes import parse_axes

    with _as_usage():
        return parse_axes(texts)


def chosen_points(texts: list[str] | None, where: str | None) -> tuple[SizePoint, ...]:
    """Return every combination; one empty point without -L."""
    if not texts:
        if where is not None:
            raise typer.BadParameter("--where filters sizes; give them with -L")
        return ((),)
    from photometer.definition.axes import points_of

    axes = chosen_axes(texts)
    with _as_usage():
        return points_of(axes, where)


def check_sweep(suites: Sequence[Suite], axes: tuple[SweepAxis, ...], where: str | None) -> None:
    """Refuse sizes and a filter that do not fit the suites."""
    from photometer.definition.axes import with_axes

    with _as_usage():
        for suite in suites:
            with_axes(suite, axes, where)


@contextlib.contextmanager
def _as_usage() -> Iterator[None]:
    """Turn a mistake in the options into a usage error, which exits with 2."""
    from photometer.errors import DefinitionError

    try:
        yield
    except DefinitionError as error:
        raise typer.BadParameter(str(error)) from None


def sizes_code(point: SizePoint, language: str) -> str:
    """Return the sizes as variables, in the language of the statements."""
    if language == "python":
        return "\n".join(f"{name} = {value!r}" for name, value in point)
    from photometer.plan.codegen_cpp import cpp_sizes

    return "\n".join(cpp_sizes(point))


def point_words(point: SizePoint) -> str:
    return ", ".join(f"{name}={value}" for name, value in point)


def show_point(point: SizePoint) -> None:
    if point:
        show_text(f"\n{point_words(point)}")


def show_summaries(points: Sequence[SizePoint], rankings: Sequence[Ranking]) -> None:
    """Print in one line per statement how it compares with the first over all points."""
    from photometer.analysis.sweep_summary import JudgedPoint, summaries
    from photometer.report.ranking_text import shown_name

    judged = (
        (f"{shown_name(each.name)} against the first", JudgedPoint(point, each.verdict.verdict, each.verdict.ratio))
        for point, ranking in zip(points, rankings, strict=True)
        for each in ranking.statements
        if each.verdict is not None
    )
    lines = [summary.sentence for summary in summaries(judged)]
    if lines:
        show_text("\nOver all points:\n" + "\n".join(f"  {line}" for line in lines))


def show_growth(points: Sequence[SizePoint], statements: Sequence[str], measurements: Sequence[Measurement]) -> None:
    """Print how the statements grow along the one axis of a sweep, and where one becomes faster than the first."""
    from photometer.analysis.curves import FEWEST_POINTS, CurveSet, sentences_of

    curves = statement_curves(points, statements, measurements)
    if len(points) < FEWEST_POINTS or not curves:
        return
    from photometer.report.figures_text import render_curves

    axis = points[0][0][0]
    sentences = sentences_of(curves, axis)
    show_rendered(render_curves([CurveSet(("the statements",), axis, "time", tuple(curves), sentences)]))


def statement_curves(
    points: Sequence[SizePoint], statements: Sequence[str], measurements: Sequence[Measurement]
) -> list[Any]:
    """Return one curve per statement; none if there are several axes, or one that is not of numbers."""
    from photometer.analysis.curves import Curve, CurvePoint

    values = [value for point in points for _, value in point]
    if any(len(point) != 1 for point in points) or not all(type(value) in (int, float) for value in values):
        return []
    curves = []
    for place, stmt in enumerate(statements):
        taken = zip(values, measurements[place :: len(statements)], strict=True)
        found = [CurvePoint(float(x), m.seconds, *m.interval_seconds) for x, m in taken]  # type: ignore[arg-type]
        curves.append(Curve(stmt, tuple(sorted(found, key=lambda point: point.x))))
    return curves
