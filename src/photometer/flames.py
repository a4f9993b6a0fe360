"""Flame graphs as files: of the cases of a suite, or of both sides of a comparison with what changed between them.

    draw_suite("overrides", Path("out"), expression="torch.add and SubTensor")

In: what to look at, and where to. Out: FlameFiles: what was written, and in words what was not. SVGs open in any
browser; where one is found on the machine, each has its picture (PNG) beside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.definition import load_suite
from photometer.definition.suite import Suite
from photometer.errors import PhotometerError, ResultsFileError, ToolMissing
from photometer.execution.flame_names import flame_names
from photometer.execution.flame_run import Look, LookSettings, look_inside
from photometer.instruments.browser import find_browser, render_png
from photometer.model.environment import Environment
from photometer.plan import materialize, select
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.report.flame_graph import INSTRUCTIONS, render_flame_difference, render_flame_graph

OnWork = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class FlameFiles:
    """`svgs` and `pngs` are what was written; `problems` are sentences, each with what to do."""

    svgs: tuple[Path, ...] = ()
    pngs: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        return (*self.svgs, *self.pngs)


def draw_suite(
    suite: str | Suite,
    folder: Path,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    settings: LookSettings = LookSettings(),  # noqa: B008 - frozen, so sharing it is safe
    environment: Environment | None = None,
    pictures: bool = False,
    on_work: OnWork = lambda _: None,
) -> FlameFiles:
    """A flame graph for each case that is selected, named after it."""
    loaded = load_suite(suite) if isinstance(suite, str) else suite
    plan = select(materialize(loaded, available_devices=("cpu",)), expression, tags)
    looks = look_inside(environment, plan, settings, on_order=on_work) if len(plan) else {}
    names = flame_names(plan)
    texts: dict[str, str] = {}
    for order in plan:
        texts.update(_one_side(order, names[order.id], looks[order.id]))
    return _write(folder, texts, _problems(plan, [looks]), pictures, on_work)


def draw_comparison(
    environments: tuple[Environment, Environment],
    plan: WorkOrders,
    comparison: EnvironmentComparison,
    folder: Path,
    *,
    settings: LookSettings = LookSettings(counted=True),  # noqa: B008 - frozen, so sharing it is safe
    on_work: OnWork = lambda _: None,
) -> FlameFiles:
    """For each order of `plan`: `base-NAME.svg`, `branch-NAME.svg`, and what changed from one to the other.

    Times are those of the comparison, which knows them best. `changed-` is by samples, `changed-instructions-` exact.
    """
    if not len(plan):
        return FlameFiles()
    base_looks = look_inside(
        environments[0], plan, settings, side="base", on_order=lambda title: on_work(f"base: {title}")
    )
    branch_looks = look_inside(
        environments[1], plan, settings, side="branch", on_order=lambda title: on_work(f"branch: {title}")
    )
    names, judged = flame_names(plan), {result.order_id: result.judged for result in comparison}
    texts: dict[str, str] = {}
    for order in plan:
        base, branch = base_looks[order.id], branch_looks[order.id]
        verdict = judged.get(order.id)
        if verdict is not None:
            base = _scaled(base, verdict.base_seconds)
            branch = _scaled(branch, verdict.base_seconds * verdict.ratio)
        texts.update(_both_sides(order, names[order.id], base, branch))
    return _write(folder, texts, _problems(plan, [base_looks, branch_looks]), True, on_work)


def _scaled(look: Look, seconds_per_run: float) -> Look:
    if look.sampled is None:
        return look
    return dataclasses.replace(look, sampled=look.sampled.scaled_to(seconds_per_run))


def _one_side(order: WorkOrder, name: str, look: Look, prefix: str = "", title: str = "") -> dict[str, str]:
    texts = {}
    shown = title or " › ".join(order.label)
    if look.sampled is not None:
        words = f"{look.sampled.seconds_per_run * 1e9:,.0f} ns a run, {look.sampled.samples} samples"
        words += "" if look.sampled.is_native else ", Python frames alone"
        texts[f"{prefix}{name}.svg"] = render_flame_graph(look.sampled.stacks, shown, subtitle=words, root=_root(order))
    if look.instructions is not None and not prefix:
        texts[f"instructions-{name}.svg"] = render_flame_graph(
            look.instructions, f"{shown}: instructions", quantity=INSTRUCTIONS, root=_root(order)
        )
    return texts


def _both_sides(order: WorkOrder, name: str, base: Look, branch: Look) -> dict[str, str]:
    title, root = " › ".join(order.label), _root(order)
    texts = _one_side(order, name, base, "base-", f"base: {title}")
    texts |= _one_side(order, name, branch, "branch-", f"branch: {title}")
    if base.sampled is not None and branch.sampled is not None:
        texts[f"changed-{name}.svg"] = render_flame_difference(
            base.sampled.stacks,
            branch.sampled.stacks,
            f"base to branch: {title}",
            root=root,
            sample_weights=(base.sampled.sample_nanoseconds, branch.sampled.sample_nanoseconds),
        )
    if base.instructions is not None and branch.instructions is not None:
        texts[f"changed-instructions-{name}.svg"] = render_flame_difference(
            base.instructions,
            branch.instructions,
            f"base to branch: {title}: instructions",
            quantity=INSTRUCTIONS,
            root=root,
        )
    return texts


def _root(order: WorkOrder) -> str:
    """The frame on top is the statement, in one line."""
    return " ".join(order.args.stmt.split())


def _problems(plan: WorkOrders, looks: Sequence[dict[str, Look]]) -> list[str]:
    """Each problem once, with the cases it concerns: a missing tool concerns them all."""
    concerned: dict[str, list[str]] = {}
    for order in plan:
        for problem in dict.fromkeys(problem for side in looks for problem in side[order.id].problems):
            concerned.setdefault(problem, []).append(" › ".join(order.label))
    return [
        problem if len(cases) == len(plan) else f"{', '.join(cases)}: {problem}" for problem, cases in concerned.items()
    ]


def _write(folder: Path, texts: dict[str, str], problems: list[str], pictures: bool, on_work: OnWork) -> FlameFiles:
    svgs: list[Path] = []
    pngs: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            path = folder / name
            path.write_text(text, encoding="utf-8")
            svgs.append(path)
    except OSError as error:
        raise ResultsFileError(
            f"{folder}: cannot be written to: {error.strerror or error}", remedy="Name another folder."
        ) from error
    if pictures and svgs:
        try:
            browser = find_browser()
        except ToolMissing as error:
            return FlameFiles(tuple(svgs), (), (*problems, f"{error.message}. {error.remedy}"))
        for svg in svgs:
            on_work(f"picture of {svg.name}")
            try:
                render_png(svg, svg.with_suffix(".png"), browser=browser)
                pngs.append(svg.with_suffix(".png"))
            except PhotometerError as error:
                problems.append(f"{error.message}. {error.remedy or ''}".rstrip())
    return FlameFiles(tuple(svgs), tuple(pngs), tuple(problems))
