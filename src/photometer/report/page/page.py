"""The page itself: one HTML document with style, script and data inside, which asks for nothing from outside.

In: a ReportView (`report_view` makes it from results files) or a FuzzMap. Out: the text of the document. The data are
JSON: a light part that is read at once, and chunks that are read on demand. Every string in them passes through
`visible` here, so that none can be forgotten: no text that reaches the page's script can change the reading direction
or hide.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.analysis.flame_tree import FlameNode, flame_tree, without_interpreter
from photometer.analysis.fuzz_map import FuzzMap
from photometer.errors import ResultsFileError
from photometer.model.visible_text import visible
from photometer.report.escape import html_prose
from photometer.report.page.figure import Figure, figure_json
from photometer.report.page.overview_figures import page_figures, reach_of
from photometer.report.page.record_identity import LANGUAGES, USUAL_WORDS, CodeView
from photometer.report.page.view_comparison import ComparisonView
from photometer.report.page.view_fuzz import fuzz_view
from photometer.report.page.view_report import ReportView
from photometer.report.page.view_run import BenchmarkView, FunctionRow, Stack
from photometer.report.tables.as_html import page_table
from photometer.stats.summary import quantile

if TYPE_CHECKING:
    from jinja2 import Environment

# Opening one benchmark reads its chunk: this many are read in a moment, and share the names of functions.
DETAILS_IN_A_CHUNK = 40
# Five digits of a sample are more than a pixel can show.
SAMPLE_DIGITS = 5
# Ten thousand rows are never printed on purpose.
MOST_PRINTED_ROWS = 2000
# On a chart of a thousand pixels, a frame below three of them can be neither read nor hit.
SMALLEST_SHARE = 0.003
_OBJECT = re.compile(r"^(?P<function>.*) \[(?P<object>[^\]]+)\]$", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class PageData:
    light: dict[str, Any]
    chunks: tuple[dict[str, Any], ...]


def page_data(view: ReportView, figures: Sequence[Figure]) -> PageData:
    compared = [_comparison_detail(each) for each in view.comparisons]
    measured = [_run_detail(each) for each in view.benchmarks]
    details = [*compared, *measured]
    chunks = [_chunk(details[i : i + DETAILS_IN_A_CHUNK]) for i in range(0, len(details), DETAILS_IN_A_CHUNK)]
    light: dict[str, Any] = {
        "figures": [figure_json(figure) for figure in figures],
        "most_printed": MOST_PRINTED_ROWS,
        "usual_words": USUAL_WORDS,
    }
    if view.comparisons:
        rows = [_comparison_row(each, place) for place, each in enumerate(view.comparisons)]
        light["comparison"] = {"rows": rows, "reach": reach_of(view.comparisons)}
    if view.benchmarks:
        light["run"] = {"rows": _run_rows(view.benchmarks, len(compared))}
    return PageData(clean(light), tuple(clean(chunk) for chunk in chunks))


def clean(value: Any) -> Any:
    """Return the value with every text made visible and every number valid in JSON."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {visible(key): clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    return value


def _place(place: int) -> dict[str, int]:
    return {"chunk": place // DETAILS_IN_A_CHUNK, "place": place % DETAILS_IN_A_CHUNK}


def _named(view: BenchmarkView | ComparisonView, place: int) -> dict[str, Any]:
    return {
        "id": view.id,
        "group": view.group,
        "name": view.name,
        "words": view.words,
        # For the filter, which also searches the code; the beginning of a long statement is enough.
        "stmt": view.code.stmt[:200],
        **_place(place),
    }


def _run_rows(views: Sequence[BenchmarkView], first_place: int) -> list[dict[str, Any]]:
    """Return one row per benchmark and variant; the languages in which it was measured are its `sides`."""
    rows: dict[tuple[object, ...], dict[str, Any]] = {}
    for number, view in enumerate(views):
        language = view.code.language
        words = tuple(word for word in view.words if word not in LANGUAGES)
        key: tuple[object, ...] = (view.path, words, view.source)
        while key in rows and language in rows[key]["sides"]:
            key = (*key, number)
        row = rows.setdefault(key, {**_named(view, first_place + number), "words": [], "sides": {}})
        if row["sides"]:
            row["stmt"] += f" {view.code.stmt[:200]}"
        row["words"] = list(dict.fromkeys([*row["words"], *view.words]))
        row["sides"][language] = _side(view, first_place + number)
    return list(rows.values())


def _side(view: BenchmarkView, place: int) -> dict[str, Any]:
    """Return the figures of one language; unknown ones are left out, because there may be ten thousand rows."""
    time, counts = view.time, view.counts
    side: dict[str, Any] = {"id": view.id, **_place(place)}
    if time is not None:
        ordered = sorted(time.samples)
        side |= {"undisturbed": True} if time.visits else {}
        side |= {"seconds": time.seconds, "low": time.interval[0], "high": time.interval[1], "digits": time.digits}
        side |= {"q05": rounded(quantile(ordered, 0.05)), "q95": rounded(quantile(ordered, 0.95))}
    if counts is not None:
        side["instructions"] = counts.outside_allocator
        side |= {} if counts.is_exact else {"differs": True}
    hot = next((m.median for m in view.device.modes if m.name == "device hot"), None) if view.device else None
    side |= {} if hot is None else {"device": hot}
    side |= {"doubtful": True} if view.is_doubtful else {}
    return side | ({"failed": True} if view.failures else {})


def _run_detail(view: BenchmarkView) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "code": _code(view.code),
        "warnings": [
            *([skip.reason, ""] for skip in view.failures),
            *([warning.message, warning.remedy] for warning in view.warnings),
        ],
        "time": None,
        "counts": None,
        "device": None,
    }
    if view.time is not None:
        detail["time"] = {
            "samples": packed_samples(view.time.samples),
            "blocks": view.time.blocks,
            "runs_per_block": view.time.runs_per_block,
            "typical": view.time.typical,
            "visits": view.time.visits,
            "percentiles": view.time.percentiles,
            "percentiles_of": view.time.percentiles_of,
            "compile_seconds": view.time.compile_seconds,
        }
    if view.counts is not None:
        counts = view.counts
        detail["counts"] = {
            "total": counts.total,
            "outside_allocator": counts.outside_allocator,
            "allocator_calls": counts.allocator_calls,
            "is_exact": counts.is_exact,
            "repeats": counts.repeats,
            "remarks": counts.remarks,
            "runs": counts.runs,
            "has_stacks": bool(counts.stacks),
            "tree": tree_of_stacks(counts.stacks)
            if counts.stacks
            else tree_of_functions(counts.functions, counts.executed),
        }
    if view.device is not None:
        detail["device"] = dataclasses.asdict(view.device)
    return detail


def _comparison_row(view: ComparisonView, place: int) -> dict[str, Any]:
    return {
        **_named(view, place),
        "verdict": view.verdict,
        "shownVerdict": view.shown_verdict,
        # Identical sides were not timed for a change.
        "hasChange": view.has_change,
        "ratio": view.ratio,
        # A ratio of 0, like an infinite one, means that nothing is known about this end.
        "interval": [end if math.isfinite(end) and end > 0 else None for end in view.interval],
        "difference": view.difference_seconds,
        "seconds": view.base_seconds,
        "margin": view.margin,
        "instructionRatio": view.instruction_ratio,
    }


def _comparison_detail(view: ComparisonView) -> dict[str, Any]:
    return {
        "code": _code(view.code),
        "sentence": view.sentence,
        "cause": view.cause,
        "notes": view.notes,
        "detectable": view.detectable,
        "replicates": view.replicates,
        "margin": view.margin,
        "functions": [[rounded(count), name] for count, name in view.functions],
        "own_code": [[rounded(count), place] for count, place in view.own_code],
        "layout_band": None if view.layout_band is None else dataclasses.asdict(view.layout_band),
        "base": packed_samples(view.base.samples),
        "branch": packed_samples(view.branch.samples),
        "runs": view.stack_runs,
        "tree": _two_sided(view.base.stacks, view.branch.stacks),
    }


def _two_sided(base: Sequence[Stack], branch: Sequence[Stack]) -> FlameNode | None:
    return tree_of_stacks(base, branch) if base and branch else None


def _code(code: CodeView) -> dict[str, str]:
    return dataclasses.asdict(code)


def rounded(value: float) -> float:
    return float(f"{value:.{SAMPLE_DIGITS}g}")


def packed_samples(samples: Sequence[float]) -> dict[str, Any]:
    """Return whole numbers and their scale: half as long as floats, and all that a plot needs."""
    largest = max(samples, default=0.0)
    if any(abs(each) > sys.float_info.max for each in samples):
        raise ResultsFileError("a time in the results is too large for a number", remedy="Restore a copy of the file.")
    if largest <= 0:
        return {"scale": 1.0, "values": [0] * len(samples)}
    middle = sorted(samples)[len(samples) // 2] or largest
    scale = 10.0 ** (math.floor(math.log10(middle)) - SAMPLE_DIGITS + 1)
    return {"scale": scale, "values": [round(value / scale) for value in samples]}


def tree_of_stacks(base: Sequence[Stack], branch: Sequence[Stack] = ()) -> FlameNode | None:
    """Return the frames wide enough to be seen, the widest first; None if there is nothing to draw.

    The stacks of a run are all `base`.
    """
    root = flame_tree(without_interpreter(branch), without_interpreter(base))
    _prune(root, root.size * SMALLEST_SHARE)
    return root if root.size > 0 and root.children else None


def tree_of_functions(functions: Sequence[FunctionRow], total: int = 0) -> FlameNode | None:
    """Return the tree for records that have functions but no stacks: libraries, with their functions below.

    `total` is that of all functions; the rest besides the given ones gets a frame of its own.
    """
    stacks: list[Stack] = []
    for count, name in functions:
        if count <= 0:
            continue
        found = _OBJECT.match(name)
        function = found["function"] if found else name
        library = found["object"].rsplit("/", 1)[-1] if found else "other"
        stacks.append(((library, function), int(count)))
    rest = total - sum(count for _, count in stacks)
    if stacks and rest > 0:
        stacks.append((("all other functions",), rest))
    return tree_of_stacks(stacks)


def _prune(root: FlameNode, smallest: float) -> None:
    open_frames = [root]
    while open_frames:
        frame = open_frames.pop()
        kept = sorted((c for c in frame.children.values() if c.size >= smallest), key=lambda c: (-c.size, c.name))
        frame.children = {child.name: child for child in kept}
        open_frames += kept


def _chunk(details: list[dict[str, Any]]) -> dict[str, Any]:
    """Return details that share one list of the names of functions, which are long and repeat."""
    names: dict[str, int] = {}
    for detail in details:
        for holder in (detail, detail.get("counts") or {}):
            if isinstance(holder.get("tree"), FlameNode):
                holder["tree"] = _packed_tree(holder["tree"], names)
    return {"names": list(names), "details": details}


def _packed_tree(frame: FlameNode, names: dict[str, int]) -> list[Any]:
    """Return `[index of the name, base, branch, own change, children]`, as script/icicle.js reads it."""
    index = names.setdefault(frame.name, len(names))
    children = [_packed_tree(child, names) for child in frame.children.values()]
    return [index, frame.base, frame.branch, frame.own_change, children]


# Its scripts and its style are shared with the site of a history.
REPORT_FOLDER = _FOLDER = Path(__file__).parent
# A longer table beside the benchmarks is folded: theirs must not begin below it.
MOST_OPEN_ROWS = 20
# In this order: each uses those before it.
_SCRIPTS = ("dom", "format", "scale", "figure", "lines", "distribution", "icicle", "table", "details", "theme", "page")


def render_report(view: ReportView) -> str:
    """Return the whole document."""
    figures = page_figures(view)
    data = page_data(view, list(figures.values()))
    script, style = page_script(), (_FOLDER / "page.css").read_text(encoding="utf-8")
    return (
        document_templates()
        .get_template("page.html.jinja")
        .render(
            title=view.title,
            view=view,
            figure_numbers={name: number for number, name in enumerate(figures)},
            figures=figures,
            most_open_rows=MOST_OPEN_ROWS,
            light_json=script_json(data.light),
            chunk_jsons=[script_json(chunk) for chunk in data.chunks],
            script=script,
            style=style,
            policy=content_policy(script, style),
        )
    )


def document_templates() -> Environment:
    """Return the templates of all documents. They share head, style and theme (document.html.jinja)."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"visible": visible, "prose": html_prose, "page_table": page_table}
    return environment


def script_of_theme() -> str:
    """Return the script of a document that needs only the button for light and dark."""
    script = combined_script([_FOLDER / "script" / f"{name}.js" for name in ("dom", "theme")]) + "\n"
    return script.replace("})();\n", "chooseTheme();\n})();\n")


def render_fuzz_page(found: FuzzMap, title: str = "Fuzzed inputs", notes: Sequence[str] = ()) -> str:
    """Return the document for one fuzz run. `notes` stand below the findings: the fuzzer, the seed, the machine."""
    return render_report(ReportView(title, fuzz=(fuzz_view(found, notes),)))


def page_script() -> str:
    """Return all scripts as one, in a scope of its own."""
    return combined_script([_FOLDER / "script" / f"{name}.js" for name in _SCRIPTS])


def combined_script(paths: Sequence[Path]) -> str:
    """Return scripts as one, in a scope of its own; each uses those before it."""
    return '"use strict";\n(() => {\n' + "\n".join(path.read_text(encoding="utf-8") for path in paths) + "})();\n"


def content_policy(script: str, style: str) -> str:
    """Return the Content-Security-Policy that allows this script and this style, and no address at all."""
    allowed = f"script-src {_source_hash(script)}; style-src {_source_hash(style)}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _source_hash(text: str) -> str:
    """Return the name of an inline script or style in a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def script_json(value: Any) -> str:
    """Return JSON that can neither end the script element it stands in nor open a comment there."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
