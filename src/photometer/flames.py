"""Flame graphs as files: of the cases of a suite, or of both sides of a comparison and the change between them.

    draw_suite("overrides", Path("out"), expression="torch.add and SubTensor")

In: the cases to profile, and a folder. Out: FlameFiles: the written files, and in words what could not be drawn. SVGs
open in any browser; if one is found on the machine, each has its picture (PNG) beside it.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from photometer.analysis.comparison_result import SIDE_NAMES, EnvironmentComparison
from photometer.comparing.environment_source import SIDE_LETTERS
from photometer.definition import load_suite
from photometer.definition.grouped import Label
from photometer.definition.suite import Suite
from photometer.errors import PhotometerError, ToolMissing
from photometer.execution.import_check import check_imports
from photometer.execution.profile import InstructionStacks, Profile, ProfileSettings, profile
from photometer.instruments.browser import find_browser, render_png
from photometer.instruments.callgrind.python_frames import STATEMENT
from photometer.instruments.py_spy import SampledStacks
from photometer.instruments.timeline import Timeline, trace_text
from photometer.model.machine import Environment
from photometer.model.order_name import label_text
from photometer.model.packed_stacks import ComparisonStacks
from photometer.model.whole_file import not_written, write_whole
from photometer.plan import materialize, select
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, WorkOrder, WorkOrders
from photometer.report.flame_graph import INSTRUCTIONS, render_flame_difference, render_flame_graph
from photometer.report.timeline_page import render_timeline_page
from photometer.session.session import Session

OnWork = Callable[[str], object]

# The four that every reader of that README looks for.
NAMES_OF_THE_README: dict[Label, str] = {
    ("torch.add", "Tensor"): "tensor",
    ("torch.add", "SubTensor"): "subtensor",
    ("torch.add", "WithTorchFunction"): "overridden",
    ("torch.add", "SubWithTorchFunction"): "suboverridden",
}
# What instruction graphs show: the figure that tables and verdicts show first.
OUTSIDE = "instructions outside the allocator"
# With fewer, a frame of a tenth of the width is known to a fifth of itself or worse.
FEW_SAMPLES = 250
# Longer names are cut: archives and file systems have limits, and a prefix and a suffix are still to come.
LONGEST_NAME = 80


@dataclasses.dataclass(frozen=True)
class FlameFiles:
    """`svgs`, `pngs` and `timelines` are the written files; `problems` are sentences, each with a remedy.

    A timeline is a page, and a trace for Perfetto beside it.
    """

    svgs: tuple[Path, ...] = ()
    pngs: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()
    timelines: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        return (*self.svgs, *self.pngs, *self.timelines)


def draw_suite(
    suite: str | Suite,
    folder: Path,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    settings: ProfileSettings = ProfileSettings(),  # noqa: B008 - frozen, so sharing it is safe
    environment: Environment | None = None,
    seed: int | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    pictures: bool = False,
    on_work: OnWork = lambda _: None,
) -> FlameFiles:
    """Draw a flame graph of each selected case, named after it."""
    loaded = load_suite(suite) if isinstance(suite, str) else suite
    with Session((environment or Environment.current()).with_code(loaded.folders)) as session:
        devices = session.facts().devices if settings.watched else ("cpu",)
        planned = materialize(loaded, available_devices=devices, timeout_seconds=timeout)
        plan = select(planned, expression, tags).seeded(seed)
        check_imports(plan, session)
        profiles = profile(session, plan, settings, on_order=on_work) if len(plan) else {}
    names = flame_names(plan)
    texts: dict[str, str] = {}
    for order in plan:
        texts.update(_one_side(order, names[order.id], profiles[order.id]))
    return _write(folder, texts, _problems(plan, [profiles]), pictures, on_work)


def draw_comparison(
    sessions: tuple[Session, Session],
    plan: WorkOrders,
    comparison: EnvironmentComparison,
    folder: Path,
    *,
    stacks: Mapping[str, ComparisonStacks] = MappingProxyType({}),
    settings: ProfileSettings = ProfileSettings(counted=True),  # noqa: B008 - frozen, so sharing it is safe
    on_work: OnWork = lambda _: None,
) -> FlameFiles:
    """Draw for each order of `plan`: `base-NAME.svg`, `branch-NAME.svg`, and the changes between them.

    Times are those of the comparison, which knows them best. `changed-` is by samples, `changed-instructions-` exact.
    Orders that have `stacks`, by their id, are not counted again: the comparison's cause was found from these.
    """
    if not len(plan):
        return FlameFiles()
    base_profiles, branch_profiles = (
        _profiles(session, plan, stacks, settings, letter, _prefixed(on_work, name))
        for session, letter, name in zip(sessions, SIDE_LETTERS[:2], SIDE_NAMES, strict=True)
    )
    names, judged = flame_names(plan), {result.order_id: result.judged for result in comparison}
    texts: dict[str, str] = {}
    for order in plan:
        base, branch = base_profiles[order.id], branch_profiles[order.id]
        verdict = judged.get(order.id)
        if verdict is not None:
            base = _scaled(base, verdict.base_seconds)
            branch = _scaled(branch, verdict.base_seconds * verdict.ratio)
        texts.update(_both_sides(order, names[order.id], base, branch))
    return _write(folder, texts, _problems(plan, [base_profiles, branch_profiles]), True, on_work)


def _profiles(
    session: Session,
    plan: WorkOrders,
    stacks: Mapping[str, ComparisonStacks],
    settings: ProfileSettings,
    side: str,
    on_order: OnWork,
) -> dict[str, Profile]:
    """Return the profiles of one side; instructions are the comparison's if it has kept them."""
    known = plan.only(tuple(order for order in plan if order.id in stacks))
    others = plan.only(tuple(order for order in plan if order.id not in stacks))
    without = dataclasses.replace(settings, counted=False)
    profiles: dict[str, Profile] = {}
    for part, asked in ((known, without), (others, settings)):
        if len(part):
            profiles |= profile(session, part, asked, side=side, on_order=on_order)
    for order in known if settings.counted else ():
        kept = stacks[order.id]
        rows = kept.base_stacks if side == SIDE_LETTERS[0] else kept.branch_stacks
        instructions = tuple((stack, count / kept.number_per_run) for stack, count in rows)
        profiles[order.id] = dataclasses.replace(profiles[order.id], instructions=instructions)
    return profiles


def _prefixed(on_work: OnWork, name: str) -> OnWork:
    return lambda title: on_work(f"{name}: {title}")


def _scaled(one: Profile, seconds_per_run: float) -> Profile:
    if one.sampled is None:
        return one
    return dataclasses.replace(one, sampled=one.sampled.scaled_to(seconds_per_run))


def _one_side(order: WorkOrder, name: str, one: Profile, prefix: str = "", title: str = "") -> dict[str, str]:
    texts = {}
    shown = title or label_text(order.label)
    if one.sampled is not None:
        words = f"{one.sampled.seconds_per_run * 1e9:,.0f} ns per run, {samples_words(one.sampled.samples)}"
        words += "" if one.sampled.is_native else ", Python frames alone"
        texts[f"{prefix}{name}.svg"] = render_flame_graph(one.sampled.stacks, shown, subtitle=words, root=_root(order))
    if one.instructions is not None and not prefix:
        texts[f"instructions-{name}.svg"] = render_flame_graph(
            _below_root(one.instructions), f"{shown}: {OUTSIDE}", quantity=INSTRUCTIONS, root=_root(order)
        )
    if one.timeline is not None and not prefix:
        texts |= _timeline(shown, name, [(_root(order), one.timeline)])
    return texts


def _timeline(title: str, name: str, sides: Sequence[tuple[str, Timeline]]) -> dict[str, str]:
    trace = f"trace-{name}.json"
    return {f"timeline-{name}.html": render_timeline_page(title, sides, trace), trace: trace_text(sides)}


def _both_sides(order: WorkOrder, name: str, base: Profile, branch: Profile) -> dict[str, str]:
    title, root = label_text(order.label), _root(order)
    texts = _one_side(order, name, base, "base-", f"base: {title}")
    texts |= _one_side(order, name, branch, "branch-", f"branch: {title}")
    if base.sampled is not None and branch.sampled is not None:
        texts[f"changed-{name}.svg"] = render_flame_difference(
            base.sampled.stacks,
            branch.sampled.stacks,
            f"base to branch: {title}",
            root=root,
            subtitle=_both_samples(base.sampled, branch.sampled),
            sample_weights=(base.sampled.sample_nanoseconds, branch.sampled.sample_nanoseconds),
        )
    if base.instructions is not None and branch.instructions is not None:
        texts[f"changed-instructions-{name}.svg"] = render_flame_difference(
            _below_root(base.instructions),
            _below_root(branch.instructions),
            f"base to branch: {title}: {OUTSIDE}",
            quantity=INSTRUCTIONS,
            root=root,
        )
    if base.timeline is not None and branch.timeline is not None:
        texts |= _timeline(title, name, [*zip(SIDE_NAMES, (base.timeline, branch.timeline), strict=True)])
    return texts


def samples_words(samples: int) -> str:
    """Return the number of samples, and a warning if they are few."""
    few = "" if samples >= FEW_SAMPLES else " – few: record for longer (--duration)"
    return f"{samples:,} samples{few}"


def _both_samples(base: SampledStacks, branch: SampledStacks) -> str:
    times = " to ".join(f"{side.seconds_per_run * 1e9:,.0f} ns" for side in (base, branch))
    return f"{times} per run, {samples_words(min(base.samples, branch.samples))} per side"


def _below_root(stacks: InstructionStacks) -> InstructionStacks:
    """Leave out the frame of the statement: the root is drawn with the statement's own text."""
    return tuple((stack[1:] if stack[:1] == (STATEMENT,) else stack, count) for stack, count in stacks)


def _root(order: WorkOrder) -> str:
    """Return the frame on top, which is the statement, in one line."""
    return " ".join(order.args.stmt.split())


def _problems(plan: WorkOrders, profiles: Sequence[dict[str, Profile]]) -> list[str]:
    """Return each problem once, with its cases: a missing tool concerns them all."""
    concerned: dict[str, list[str]] = {}
    for order in plan:
        for problem in dict.fromkeys(problem for side in profiles for problem in side[order.id].problems):
            concerned.setdefault(problem, []).append(label_text(order.label))
    return [
        problem if len(cases) == len(plan) else f"{', '.join(cases)}: {problem}" for problem, cases in concerned.items()
    ]


def _write(folder: Path, texts: dict[str, str], problems: list[str], pictures: bool, on_work: OnWork) -> FlameFiles:
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            path = folder / name
            write_whole(path, text.encode("utf-8"))
            written.append(path)
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder.") from error
    svgs = tuple(path for path in written if path.suffix == ".svg")
    others = tuple(path for path in written if path.suffix != ".svg")
    pngs = _pictures(svgs, problems, on_work) if pictures else ()
    return FlameFiles(svgs, pngs, tuple(problems), others)


def _pictures(svgs: Sequence[Path], problems: list[str], on_work: OnWork) -> tuple[Path, ...]:
    """Write the picture of each file; add failures to the problems."""
    if not svgs:
        return ()
    try:
        browser = find_browser()
    except ToolMissing as error:
        problems.append(f"{error.message}. {error.remedy}")
        return ()
    pngs: list[Path] = []
    for svg in svgs:
        on_work(f"picture of {svg.name}")
        try:
            render_png(svg, svg.with_suffix(".png"), browser=browser)
            pngs.append(svg.with_suffix(".png"))
        except PhotometerError as error:
            problems.append(f"{error.message}. {error.remedy or ''}".rstrip())
    return tuple(pngs)


def flame_names(orders: Iterable[WorkOrder]) -> dict[str, str]:
    """Return the name of each order's files, by its id, without folder and suffix; no two are the same.

    Orders with equal labels are distinguished by language, threads or sizes.
    """
    orders = tuple(orders)
    labels = Counter(_plain_name(order) for order in orders)
    names: dict[str, str] = {}
    for order in orders:
        name = _plain_name(order)
        if labels[name] > 1:
            words = "-".join(str(value) for value in order.auto.as_dict().values())
            name = f"{name}-{_slug(words)}"
        names[order.id] = name if name not in names.values() else f"{name}-{order.id}"
    return names


def _plain_name(order: WorkOrder) -> str:
    return NAMES_OF_THE_README.get(order.label[-2:]) or _slug("-".join(order.label))


def _slug(text: str) -> str:
    """Return letters, digits and single dashes, which are safe in a file's name everywhere."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST_NAME].rstrip("-") or "case"
