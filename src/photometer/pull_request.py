"""The bundle to attach to a pull request: a comparison's report, both sides' results, flame graphs, how to repeat it.

In: a comparison that was kept in a folder (`photometer compare -o DIR`), and its flame graphs. Out: DIR/bundle.zip, and
the same files beside it. The bundle's README says what could not be made.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.comparing.comparison import Comparison
from photometer.comparing.comparison_file import FILE_NAME
from photometer.environments.resolved import ResolvedEnvironment
from photometer.errors import PhotometerError, ResultsFileError
from photometer.execution.profile import ProfileSettings
from photometer.execution.run_file import identified
from photometer.flames import FlameFiles, OnWork, draw_comparison
from photometer.instruments.ready_order import task_spec_of
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.machine import Machine
from photometer.model.measurement import Measurement
from photometer.model.packed_stacks import ComparisonStacks
from photometer.model.records import to_record
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import Results, load_results
from photometer.model.whole_file import not_written, write_text_whole
from photometer.plan.work_order import WorkOrders
from photometer.report.page.page import render_report
from photometer.report.page.view_report import report_view
from photometer.report.verdict_text import render_verdicts_markdown

BUNDLE_NAME = "bundle.zip"
FLAME_FOLDER = "flame-graphs"
# The earliest date a ZIP archive can hold.
_NO_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16
WhichFlames = Literal["all", "slower", "none"]


@dataclasses.dataclass(frozen=True)
class Compared:
    """A live comparison with its sides, its plan and the flame graphs drawn, which are known only while it runs."""

    comparison: EnvironmentComparison
    sides: tuple[ResolvedEnvironment, ResolvedEnvironment]
    plan: WorkOrders
    flames: FlameFiles = dataclasses.field(default_factory=FlameFiles)


def draw_flames(
    live: Comparison,
    comparison: EnvironmentComparison,
    folder: Path,
    which: WhichFlames,
    *,
    settings: ProfileSettings,
    on_work: OnWork = lambda _: None,
) -> Compared:
    """Draw flame graphs of all cases of a comparison, or of the slower ones, in `folder`/flame-graphs.

    Call it while both sides can still be started: checkouts of git revisions are removed afterwards.
    """
    wanted = {
        result.order_id for result in comparison if which == "all" or (which == "slower" and result.verdict == "slower")
    }
    whole = live.plan
    # What a device does, neither py-spy nor Valgrind sees.
    plan = whole.only(tuple(order for order in whole if order.id in wanted and not order.auto.on_device))
    base, branch = live.sides
    try:
        flames = draw_comparison(
            (base.session, branch.session),
            plan,
            comparison,
            folder / FLAME_FOLDER,
            stacks=_kept_stacks(folder),
            settings=settings,
            on_work=on_work,
        )
    except PhotometerError as error:
        # The verdicts stand and are worth more than their pictures.
        flames = FlameFiles(problems=(f"there are no flame graphs: {error}",))
    assert base.resolved is not None
    assert branch.resolved is not None
    return Compared(comparison, (base.resolved, branch.resolved), whole, flames)


def _kept_stacks(folder: Path) -> dict[str, ComparisonStacks]:
    """Return the call stacks of changes, by order: the cause was found from them, and the graph shows the same."""
    path = folder / FILE_NAME
    return {stacks.order_id: stacks for stacks in load_results(path).of(ComparisonStacks)} if path.exists() else {}


def attach(compared: Compared, folder: Path, command: Sequence[str]) -> Path:
    """Write the bundle of a comparison kept in `folder`. `command` is the command line that made it."""
    kept = load_results(folder / FILE_NAME)
    names = {"base.json": "base", "branch.json": "branch"}
    for name, side in names.items():
        ResultsFile.create(
            folder / name,
            {"suite": compared.plan.suite, "side": side, "fingerprint": compared.plan.fingerprint},
            machine=kept.machine,
            records=_side_records(kept, compared.plan, side),
            overwrite=True,
        )
    page = render_report(report_view([kept]))
    write_text_whole(folder / "report.html", page, kept=f"all results are in {folder / FILE_NAME}")
    members: dict[str, Path | str] = {
        "README.txt": readme(compared, kept.machine, command),
        "report.md": render_verdicts_markdown(compared.comparison),
        "report.html": folder / "report.html",
        "comparison.json": folder / FILE_NAME,
        "machine.json": json.dumps({} if kept.machine is None else to_record(kept.machine), indent=2) + "\n",
        **{name: folder / name for name in names},
        **{f"{FLAME_FOLDER}/{file.name}": file for file in compared.flames.files},
    }
    return write_bundle(folder / BUNDLE_NAME, members)


def readme(compared: Compared, machine: Machine | None, command: Sequence[str]) -> str:
    """Return the README: the content of the bundle, where it was measured, and how to measure it again."""
    comparison = compared.comparison
    slower = [result for result in comparison if result.verdict == "slower"]
    lines = [
        f"{comparison.branch} against {comparison.base}, suite {comparison.suite}",
        f"{len(slower)} slower of {len(comparison.results)} cases compared",
        *(f"  {result.title}: {100 * (result.ratio - 1):+.2f} %" for result in slower),
        "",
        "report.html, report.md    the verdicts, with their intervals and causes",
        "base.json, branch.json    every measured block of each side; `photometer show` reads them",
        "comparison.json           both sides block by block, as they were compared",
        "machine.json              what it was measured on",
    ]
    if compared.flames.svgs:
        lines += [
            f"{FLAME_FOLDER}/            base-, branch- and changed-NAME.svg: open them in a browser, click to zoom",
        ]
    lines += ["", "Measured on", f"  {'an unknown machine' if machine is None else machine.summary()}"]
    lines += ["", "To repeat it", f"  {shlex.join(command)}"]
    for name, side in zip(("base", "branch"), compared.sides, strict=True):
        lines.append(f"  {name}: {_exactly(side)}")
    if compared.flames.problems:
        lines += ["", "What is missing", *(f"  {problem}" for problem in compared.flames.problems)]
    return "\n".join(lines) + "\n"


def _exactly(side: ResolvedEnvironment) -> str:
    if side.checkout is None:
        return side.spec.text
    changed = " with uncommitted changes" if side.checkout.is_changed else ""
    return f"{side.spec.text}, commit {side.checkout.commit}{changed}"


def _side_records(kept: Results, plan: WorkOrders, side: str) -> list[dict[str, object]]:
    """Return one measurement per replicate: replicates are processes of their own and are not pooled.

    Times by a device's own clock are left out: a measurement is by the host's, and the two must not be compared.
    """
    orders = {order.id: order for order in plan if not order.auto.on_device}
    records = []
    for replicate in kept.of(ComparisonReplicate):
        if replicate.layout != 0 or replicate.order_id not in orders:
            continue
        order = orders[replicate.order_id]
        blocks = replicate.base_block_nanoseconds if side == "base" else replicate.branch_block_nanoseconds
        measured = Measurement(replicate.runs_per_block, [block * 1e-9 for block in blocks], task_spec_of(order))
        records.append(identified(to_record(measured), order))
    return records


def write_bundle(path: Path, members: Mapping[str, Path | str]) -> Path:
    """Write an archive of these members, whole or not at all: a Path is a file to add, a str the text itself.

    The same content gives the same bytes: entries are sorted and carry no date.
    """
    for name in members:
        _check_name(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".bundle-", suffix=".zip")
        try:
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in sorted(members.items()):
                    entry = zipfile.ZipInfo(name, _NO_DATE)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    entry.external_attr = _MODE
                    archive.writestr(entry, content if isinstance(content, str) else content.read_bytes())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        kept = f"the files for it are in {path.parent}" if path.parent.is_dir() else ""
        raise not_written(path, error, kept=kept, remedy="Name another folder.") from error
    return path


def _check_name(name: str) -> None:
    """Refuse a name that would unpack outside its folder."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in name:
        raise ResultsFileError(f"{name!r} cannot be a name in an archive", remedy="Give a relative path.")
