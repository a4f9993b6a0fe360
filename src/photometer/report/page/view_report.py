"""ReportView: everything that the page shows.

In: one or several loaded results files. Out: the view. Unknown kinds of records are counted and named. A MachineView
describes, in words, the machine and software of a measurement, and what disturbed it.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from photometer.analysis.comparison_reader import read_comparison
from photometer.analysis.comparison_result import ComparisonFailure, ComparisonSkip
from photometer.analysis.figure_change import MetricChange
from photometer.analysis.verdict import PROBABLE_WORDS, VERDICT_WORDS
from photometer.environments.spec import MERGE_BASE, WORKTREE
from photometer.errors import ResultsFileError
from photometer.instruments.ladder import LadderStep
from photometer.model.comparison_replicate import HEADER_NAME, records_of_side, sides_in
from photometer.model.diagnosis import Conditions
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.machine import Machine
from photometer.model.records import from_record
from photometer.model.results_reader import Results
from photometer.model.units import GIB, percent
from photometer.report.page import view_comparison, view_run
from photometer.report.page.view_comparison import (
    ComparisonView,
    comparison_remarks,
    comparison_views,
    without_verdict,
)
from photometer.report.page.view_figures import FIGURE_KINDS, NO_FIGURES, FiguresView, figures_view, joined_figures
from photometer.report.page.view_fuzz import FuzzView, fuzz_view_of
from photometer.report.page.view_ladder import SUITE, LadderView, ladders_of_benchmarks, ladders_of_records
from photometer.report.page.view_run import BenchmarkView, RunViews, Unmeasured, run_views
from photometer.report.verdict_text import memory_counts
from photometer.stats.summary import median


@dataclasses.dataclass(frozen=True)
class MachineView:
    """`name` is the file's; `facts` are pairs for a list of definitions; `disturbances` is a sentence or empty."""

    name: str
    facts: tuple[tuple[str, str], ...]
    disturbances: str = ""
    summary: str = ""


def machine_view(
    name: str,
    machine: Machine | None,
    conditions: Sequence[Conditions],
    header: Mapping[str, Any] | None = None,
    devices: Sequence[str] = (),
) -> MachineView:
    facts = () if machine is None else _facts(machine)
    facts = (*facts, *([("Devices", ", ".join(devices))] if devices else []))
    short = [
        f"{key} {value}" if key in ("torch", "Python") else value
        for key in ("Processor", "Devices", "torch", "Python", "Date")
        if (value := dict(facts).get(key))
    ]
    return MachineView(name, (*sides_of(header or {}), *facts), disturbances_of(machine, conditions), " · ".join(short))


def sides_of(header: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return base and branch of a comparison, as the header describes them."""
    about = header.get("comparison")
    if not isinstance(about, Mapping):
        return ()
    return tuple((side.capitalize(), _side_text(about[side])) for side in ("base", "branch") if about.get(side))


def _side_text(side: object) -> str:
    if not isinstance(side, Mapping):
        return str(side)
    commit = f", commit {str(side['commit'])[:10]}" if side.get("commit") else ""
    return f"{side.get('spec') or side.get('python') or 'unknown'}{commit}"


def _facts(machine: Machine) -> tuple[tuple[str, str], ...]:
    torch = machine.torch
    cores = machine.logical_cores
    usable = machine.usable_cores
    cores_text = None if cores is None else f"{cores}" + (f", {usable} usable" if usable not in (None, cores) else "")
    memory = None if machine.memory_bytes is None else f"{machine.memory_bytes / GIB:.3g} GiB"
    commit = None
    if machine.commit is not None:
        commit = machine.commit[:10] + (" with changes" if machine.commit_is_dirty else "")
    build = None
    if torch is not None and torch.version is not None:
        accelerator = f", CUDA {torch.cuda}" if torch.cuda else f", ROCm {torch.hip}" if torch.hip else ""
        capability = f", {torch.cpu_capability}" if torch.cpu_capability else ""
        build = f"{torch.version}{accelerator}{capability}" + (", debug build" if torch.debug else "")
    named = (
        ("Processor", machine.cpu_model),
        ("Cores", cores_text),
        ("Memory", memory),
        ("Governor", machine.governor),
        ("Hypervisor", machine.hypervisor),
        ("Kernel", machine.kernel),
        ("torch", build),
        ("Python", machine.python),
        ("photometer", machine.photometer),
        ("Commit", commit),
        ("Date", _date(machine.date)),
    )
    return tuple((name, value) for name, value in named if value)


def _date(date: str | None) -> str | None:
    """Return the date to the minute: a run takes minutes anyway."""
    try:
        parsed = datetime.datetime.fromisoformat(date or "")
    except ValueError:
        return date
    zone = "UTC" if parsed.utcoffset() == datetime.timedelta(0) else parsed.strftime("%z")
    return f"{parsed:%Y-%m-%d %H:%M} {zone}".strip()


def disturbances_of(machine: Machine | None, conditions: Sequence[Conditions]) -> str:
    """Return one sentence on the instruments' observations; the warnings of the run judge them."""
    stolen = None if machine is None else machine.stolen_share
    wall = sum(c.wall_seconds for c in conditions if c.wall_seconds and c.cpu_seconds is not None)
    cpu = sum(c.cpu_seconds for c in conditions if c.wall_seconds and c.cpu_seconds is not None)
    set_aside = sum(c.preempted_blocks or 0 for c in conditions)
    parts = []
    waited = max(1 - cpu / wall, 0.0) if wall else None
    if waited is not None:
        parts.append(f"the benchmarks were off their core for {waited * 100:.1f} % of the time")
    if set_aside:
        parts.append(f"{set_aside:,} interrupted block{'s were' if set_aside > 1 else ' was'} set aside")
    if stolen:
        parts.append(f"the hypervisor took {stolen * 100:.1f} %")
    if not parts:
        return ""
    return f"While they were measured, {', '.join(parts)}."


# All samples of all benchmarks together: at about 5 bytes each the page stays under 6 MB.
MOST_SAMPLES = 600_000
# At least and at most: with fewer samples a drift would not show, and a plot a thousand pixels wide shows no more.
SAMPLES_OF_ONE = (60, 1000)
_KNOWN = {*view_run.KINDS, *view_comparison.KINDS, FuzzTrial.KIND, LadderStep.KIND, MetricChange.KIND, *FIGURE_KINDS}


@dataclasses.dataclass(frozen=True)
class ReportView:
    title: str
    machines: tuple[MachineView, ...] = ()
    benchmarks: tuple[BenchmarkView, ...] = ()
    failed: tuple[Unmeasured, ...] = ()
    skipped: tuple[Unmeasured, ...] = ()
    comparisons: tuple[ComparisonView, ...] = ()
    ladders: tuple[LadderView, ...] = ()
    fuzz: tuple[FuzzView, ...] = ()
    figures: FiguresView = NO_FIGURES
    notes: tuple[str, ...] = ()
    # What is to be known first about doubtful times, per file.
    cautions: tuple[str, ...] = ()
    # Which commits are compared, and what their times are.
    subjects: tuple[str, ...] = ()

    @property
    def verdict_counts(self) -> dict[str, int]:
        counted = Counter(view.verdict for view in self.comparisons)
        return {word: counted[word] for word in VERDICT_WORDS if counted[word] or word not in PROBABLE_WORDS}

    @property
    def headline(self) -> str:
        """The result in one line."""
        parts = []
        if self.comparisons:
            counts = [f"{number} {word}" for word, number in self.verdict_counts.items() if number]
            memory = memory_counts(Counter(view.memory_word for view in self.comparisons))
            parts.append(", ".join((*counts, *memory)))
        if self.benchmarks:
            partial = sum(bool(view.failures) for view in self.benchmarks)
            in_part = f", {partial} only in part" if partial else ""
            parts.append(_counted(len(self.benchmarks), "variant") + f" measured{in_part}")
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if self.skipped:
            parts.append(f"{len(self.skipped)} skipped")
        return "; ".join(parts)

    @property
    def doubtful(self) -> int:
        """How many variants have a time that is marked."""
        return sum(view.is_doubtful for view in self.benchmarks)


def report_view(files: Sequence[Results], title: str | None = None) -> ReportView:
    """Return the view of the files, in the order given. The file's name distinguishes equal benchmarks."""
    known = sum(record["kind"] in _KNOWN for results in files for record in results.records)
    if not known:
        names = ", ".join(str(results.path) for results in files)
        raise ResultsFileError(
            f"nothing to report in {names}", remedy="Measure something first: photometer run --help."
        )
    samples = min(max(MOST_SAMPLES // max(known, 1), SAMPLES_OF_ONE[0]), SAMPLES_OF_ONE[1])
    found = [_file_views(results, source, samples) for results, source in zip(files, _sources(files), strict=True)]
    benchmarks = tuple(_distinct(view for each in found for view in each.run.benchmarks))
    overrides = {each.source for each in found if each.suite == SUITE}
    ladders = tuple(ladder for each in found for ladder in each.ladders)
    return ReportView(
        title=title or _title(files),
        machines=tuple(each.machine for each in found),
        benchmarks=benchmarks,
        failed=tuple(one for each in found for one in (*each.run.failed, *each.uncompared[ComparisonFailure.KIND])),
        skipped=tuple(one for each in found for one in (*each.run.skipped, *each.uncompared[ComparisonSkip.KIND])),
        comparisons=tuple(sorted((view for each in found for view in each.comparisons), key=lambda view: view.rank)),
        ladders=ladders or ladders_of_benchmarks([view for view in benchmarks if view.source in overrides]),
        fuzz=tuple(each.fuzz for each in found if each.fuzz is not None),
        figures=joined_figures([each.figures for each in found]),
        notes=(*_notes(files), *(remark for each in found for remark in each.remarks)),
        cautions=tuple(each.run.machine for each in found if each.run.machine),
        subjects=(*_compared(files), *_kind_of_times(benchmarks)),
    )


@dataclasses.dataclass(frozen=True)
class _FileViews:
    """The views of one file."""

    source: str
    suite: str
    run: RunViews
    comparisons: Sequence[ComparisonView]
    uncompared: Mapping[str, Sequence[Unmeasured]]
    remarks: Sequence[str]
    ladders: Sequence[LadderView]
    fuzz: FuzzView | None
    figures: FiguresView
    machine: MachineView


def _file_views(results: Results, source: str, samples: int) -> _FileViews:
    """Return the views of one file; an error names it."""
    records = results.records_by_suite
    try:
        return _FileViews(
            source=source,
            suite=suite_of(results),
            run=run_views(records, source, samples),
            comparisons=_comparisons(results, source, samples),
            uncompared={kind: without_verdict(records, kind) for kind in (ComparisonFailure.KIND, ComparisonSkip.KIND)},
            remarks=comparison_remarks(records),
            ladders=ladders_of_records(records),
            fuzz=fuzz_view_of(records, results.header),
            figures=figures_view(records, source),
            machine=machine_view(
                results.path.name, results.machine, _conditions(results), results.header, _devices(results)
            ),
        )
    except ResultsFileError as error:
        if error.message.startswith(str(results.path)):
            raise
        raise ResultsFileError(f"{results.path}: {error.message}", remedy=error.remedy) from error


def _comparisons(results: Results, source: str, samples: int) -> list[ComparisonView]:
    """Return each side of a comparison with the reference; more than two are distinguished by their names."""
    records = results.records_by_suite
    compared = read_comparison(results) if sides_in(results.header) > 2 else None
    if compared is None:
        return [*comparison_views(records, source, samples)]
    views: list[ComparisonView] = []
    for place, name in enumerate(compared.names[1:], start=1):
        views += comparison_views(records_of_side(records, place), f"{source} {name}".strip(), samples)
    return views


def _title(files: Sequence[Results]) -> str:
    if len(files) == 1 and (names := _names(files[0])):
        project = str(files[0].header[HEADER_NAME].get("project") or suite_of(files[0]))
        against = f"{_bare(names[1])} against {_bare(names[0])}"
        if len(names) > 2:
            against = f"{len(names) - 1} sides against {_bare(names[0])}"
        return f"{project}: {against}" if project else against
    suites = {suite_of(results) for results in files}
    suite = suites.pop() if len(suites) == 1 else ""
    if suite:
        return suite if "suite" in suite.lower() else f"{suite[:1].upper()}{suite[1:]} suite"
    if all("fuzz" in results.header for results in files):
        return "Fuzzed inputs"
    return ", ".join(results.path.stem for results in files)


def _names(results: Results) -> list[str]:
    """Return the names of the sides of a comparison; nothing if the file has none."""
    about = results.header.get(HEADER_NAME)
    names = about.get("names") if isinstance(about, Mapping) else None
    if isinstance(names, list) and len(names) > 1:
        return [str(name) for name in names]
    sides = [text for _, text in sides_of(results.header)]
    # A damaged header may name one side only.
    return sides if len(sides) > 1 else []


def _bare(name: str) -> str:
    """Return a side without its commit: `main`, `faster-gate`."""
    return _readable(name).partition(" (")[0].partition(", commit ")[0]


def _readable(name: str) -> str:
    """Return a side without the parts that only the command line needs, with its commit."""
    without = name.removeprefix("git:").removeprefix(MERGE_BASE)
    return f"working tree{without.removeprefix(WORKTREE)}" if without.startswith(WORKTREE) else without


def _compared(files: Sequence[Results]) -> Iterator[str]:
    """Yield the suite and the commits of the comparison."""
    for results in files:
        if names := _names(results):
            suite = suite_of(results)
            sides = f"{_readable(names[1])} against {_readable(names[0])}"
            yield f"Suite {suite}: {sides}" if suite else sides


def _kind_of_times(benchmarks: Sequence[BenchmarkView]) -> Iterator[str]:
    """Yield a note that times are undisturbed, and how much longer typical ones are, if there are any."""
    excesses = [view.time.typical / view.time.seconds - 1 for view in benchmarks if view.time and view.time.visits]
    if excesses:
        yield (
            "Times are undisturbed: what they are when nothing else runs. "
            f"Typical times (medians) are {percent(max(median(excesses), 0.0))} longer here."
        )


def suite_of(results: Results) -> str:
    """Return the suite as the header of a run or of a comparison names it; empty if it names none."""
    for about in (results.header.get("run"), results.header.get("comparison")):
        if isinstance(about, Mapping) and isinstance(about.get("suite"), str):
            return str(about["suite"])
    return ""


def _sources(files: Sequence[Results]) -> list[str]:
    """Return what distinguishes the files: nothing for a single one; otherwise the stem or, if it repeats, the path."""
    if len(files) == 1:
        return [""]
    stems = Counter(results.path.stem for results in files)
    return [r.path.stem if stems[r.path.stem] == 1 else str(r.path.with_suffix("")) for r in files]


def _distinct(views: Iterable[BenchmarkView]) -> Iterable[BenchmarkView]:
    """Make ids distinct, even if the same file is given twice: a link must lead to one place."""
    seen: Counter[str] = Counter()
    for view in views:
        seen[view.id] += 1
        yield view if seen[view.id] == 1 else dataclasses.replace(view, id=f"{view.id}-{seen[view.id]}")


def _conditions(results: Results) -> list[Conditions]:
    return [
        from_record(Conditions, record["conditions"])
        for record in results.records
        if record["kind"] == "measurement" and isinstance(record.get("conditions"), dict)
    ]


def _devices(results: Results) -> tuple[str, ...]:
    """Return the names of the accelerators that were measured."""
    names = (str(r.get("device_name") or "") for r in results.records if r["kind"] == "device_measurement")
    return tuple(sorted(set(names) - {""}))


def _notes(files: Sequence[Results]) -> tuple[str, ...]:
    notes = [f"{results.path.name}: {damage}." for results in files for damage in results.damage]
    unknown = Counter(record["kind"] for r in files for record in r.records if record["kind"] not in _KNOWN)
    for kind, number in unknown.items():
        notes.append(f"{_counted(number, 'record')} of kind {kind} {'is' if number == 1 else 'are'} not shown.")
    return tuple(notes)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
