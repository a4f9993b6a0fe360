"""Texts that anyone may write, in every output: names, labels, messages, authors, branches and paths act on nothing.

Each output is made with harmless text and with hostile text, and its reader (an HTML, XML or CSV parser, the lines of a
workflow command) must find the same structure in both.
"""

from __future__ import annotations

import csv
import dataclasses
import html.parser
import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from benchmarks.fuzz_inputs import CONTROL, EXAMPLE_RECORDS, _run_command

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.ci.comment_text import render_comment, render_summary
from photometer.ci.export_formats import EXPORTS
from photometer.ci.exported_figures import figures_of_comparison
from photometer.ci.report_files import annotations_of, render_junit, render_open_metrics
from photometer.ci.review import Review
from photometer.history.site.site_files import publish_site
from photometer.history.store import open_store
from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.task import TaskSpec
from photometer.pytest_plugin.summary import run_lines
from photometer.report.flame_graph import render_flame_graph
from photometer.report.notebook import comparison_html, measurement_html
from photometer.report.plots import plot_comparison, plot_measurement
from tests.analysis.verdicts import result
from tests.ci.reviews import more_instructions, review
from tests.cli.hostile_records import EXAMPLE
from tests.history.records import counts, header, origin, times
from tests.history.site.conftest import OPTIONS

if TYPE_CHECKING:
    pass

PLAIN = "plain words"
SCRIPT = "document.title='bad'"
HOSTILE = {
    "html": f'<script>{SCRIPT}</script><img src=x onerror="{SCRIPT}"></textarea></style></title><svg onload={SCRIPT}>',
    "attribute": f"' onmouseover='{SCRIPT}' \" onfocus=\"{SCRIPT}\" autofocus x=`",
    "template": "{{ 7*7 }} {% raw %} ${{ github.token }} $(touch bad) `touch bad` %s {0.__class__}",
    "markdown": f"[x](javascript:{SCRIPT}) ![i](https://evil.example/i) | a | @team #1 --> </details> <!-- ``` ***",
    "terminal": "\x1b[31mred\x1b]0;title\x07\x9b2J\x08\x7f\rover",
    "direction": "\u202ereversed\u202c \u2066isolated\u2069 \u200f",
    "lines": "a\nb\r\nc\u2028d\u2029e\x0bf\x0cg\x85h\n::error::gone\n# TYPE x counter\n%0A::set-output name=a::b",
    "surrogates": "\ud800 \udfff\ud83d",
    "zero": "a\x00b",
    "formula": '=HYPERLINK("https://evil.example")\t+1-1@SUM(A1)',
    "json": "</script><!--<script>\\u003c\\\"'],}",
    "long": "x" * 10_000,
}


def document(text: str) -> dict[str, Any]:
    """Return a results file in which everything that its author chose is this text."""

    def put(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: put(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [put(each, key) for each in value]
        written = ("stmt", "setup", "sub_label", "description", "suite", "function", "cpu_model", "commit", "message")
        return text if isinstance(value, str) and value and key in written else value

    made: dict[str, Any] = put(json.loads(json.dumps(EXAMPLE)))
    made["comparison"] = {**made["comparison"], "base": text, "branch": text}
    return made


def shown(folder: Path, text: str, *words: str) -> str:
    path = folder / "results.json"
    path.write_text(json.dumps(document(text)))
    said = _run_command([words[0], str(path), *words[1:]])
    assert not said.startswith("Usage:"), said
    return said


def reviewed(text: str) -> Review:
    return review(
        result("slower", 1.1, text, cause=text, instructions=more_instructions(0.1)),
        result("identical", 1.0, f"{text} 2"),
        failures=(ComparisonFailure("id", text, "base", text, text),),
        not_reached=(text,),
        fail_on="slower,instructions:1%",
    )


def stored(folder: Path, text: str) -> Path:
    """Return a store of three commits whose authors, messages, branches and benchmarks are called so."""
    place = folder / "history.sqlite"
    with open_store(place, create=True) as store:
        for number in range(3):
            commit = origin(number)
            assert commit.commit is not None
            named = dataclasses.replace(commit.commit, author=text, subject=text)
            commit = dataclasses.replace(commit, commit=named, branch=text)
            store.add_run(
                header(f"run-{number}", suite=text), [times(text, 1e-6), counts(text, 12_000 + number)], commit
            )
    return place


class Tags(html.parser.HTMLParser):
    """The elements of a document, with the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[tuple[str, ...]] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, *sorted(name for name, _ in attrs)))
        assert not [value for _, value in attrs if (value or "").strip().lower().startswith("javascript:")]


def terminal(text: str) -> object:
    assert not CONTROL.intersection(text)
    assert not [character for character in text if "\ud800" <= character <= "\udfff"]
    return None


def tags(text: str) -> object:
    text.encode()
    return Tags(text).found


def lines_and_tags(text: str) -> object:
    """Return the elements, of which <br> stands for a line break of the text."""
    text.encode()
    return Tags(text).found - {("br",)}


def drawn(text: str) -> object:
    """Return the kinds of elements: how many ticks an axis has depends on the room beside the names."""
    text.encode()
    return {(each.tag, tuple(sorted(each.keys()))) for each in ElementTree.fromstring(text).iter()}


def xml(text: str) -> object:
    text.encode()
    return [(each.tag, sorted(each.keys())) for each in ElementTree.fromstring(text).iter()]


def cells(text: str) -> object:
    rows = list(csv.reader(io.StringIO(text)))
    for cell in (cell for row in rows for cell in row):
        assert not cell.startswith(("=", "@", "\t", "\r")), cell
        assert not cell.startswith(("+", "-")) or re.fullmatch(r"[+-][\d.e+-]+", cell), cell
    return len(rows)


def markdown(text: str) -> object:
    terminal(text)
    raw = re.findall(r"<(?!/?(?:details|summary|sub|br|b|code|a)\b|!-- photometer)[a-z!/][^>]*>", text, re.IGNORECASE)
    assert raw == []
    assert not re.search(r"(?<!\\)\]\(javascript:", text)
    assert not re.search(r"(?<![\w`\\;])@team", text)
    return None


def shape(text: str) -> object:
    """Return how many benchmarks a service finds. The line breaks are those of the layout."""
    terminal(text)
    return len(json.loads(text))


def metrics(text: str) -> object:
    lines = text.split("\n")
    assert all(line.startswith(("# ", "photometer_")) or not line for line in lines), lines
    return len(lines)


def commands(text: str) -> object:
    lines = text.splitlines()
    assert all(line.startswith("::") for line in lines)
    return len(lines)


def page(folder: Path, text: str) -> str:
    shown(folder, text, "report", "-o", str(folder / "page"))
    return (folder / "page" / "report.html").read_text()


def site(folder: Path, text: str) -> str:
    with open_store(stored(folder, text)) as store:
        return publish_site(store, folder / "site", OPTIONS, 1_790_000_000).page.read_text()


def history(folder: Path, text: str, *words: str) -> str:
    said = _run_command(["history", *words, "--store", str(stored(folder, text))])
    assert not said.startswith("Usage:"), said
    return said


def measured(text: str) -> Measurement:
    task = TaskSpec(text, text, label=text, sub_label=text, description=text, env=text)
    return Measurement(10, [1e-5, 2e-5, 3e-5], task)


def pytest_table(folder: Path, text: str) -> str:
    return "\n".join(run_lines([{**to_record(measured(text)), "test": text}], 100))


def notebook(folder: Path, text: str) -> str:
    return measurement_html(measured(text)) + comparison_html(reviewed(text).comparison)


def plots(folder: Path, text: str) -> str:
    made = (plot_measurement(measured(text)), plot_comparison(reviewed(text).comparison))
    return f"<all>{''.join(each.svg for each in made)}</all>"


def export(name: str, folder: Path, text: str) -> str:
    return EXPORTS[name](figures_of_comparison(reviewed(text).comparison))


def flame_graph(folder: Path, text: str) -> str:
    return render_flame_graph([((f"{text} (lib.so)", f"f ({text}.py)"), 600.0), ((text,), 300.0)], text)


# What makes the output from a text, and what reads its structure.
OUTPUTS: dict[str, tuple[Callable[[Path, str], str], Callable[[str], object]]] = {
    "show": (lambda folder, text: shown(folder, text, "show"), terminal),
    "show variants": (lambda folder, text: shown(folder, text, "show", "--variants", "--csv"), cells),
    "show markdown": (lambda folder, text: shown(folder, text, "show", "--markdown"), markdown),
    "show html": (lambda folder, text: shown(folder, text, "show", "--html"), tags),
    "show csv": (lambda folder, text: shown(folder, text, "show", "--csv"), cells),
    "show json": (lambda folder, text: shown(folder, text, "show", "--json"), terminal),
    "page": (page, tags),
    "site": (site, tags),
    "history runs": (lambda folder, text: history(folder, text, "runs"), terminal),
    "history curves": (lambda folder, text: history(folder, text, "curves"), terminal),
    "history changes": (lambda folder, text: history(folder, text, "changes"), terminal),
    "history runs markdown": (lambda folder, text: history(folder, text, "runs", "--markdown"), markdown),
    "history curves csv": (lambda folder, text: history(folder, text, "curves", "--csv"), cells),
    "history csv": (lambda folder, text: history(folder, text, "export", "--csv"), cells),
    "pytest table": (pytest_table, terminal),
    "notebook": (notebook, lines_and_tags),
    "plots": (plots, drawn),
    "flame graph": (flame_graph, xml),
    "comment": (lambda folder, text: render_comment(reviewed(text), f"https://h/?{text}"), markdown),
    "summary": (lambda folder, text: render_summary(reviewed(text)), markdown),
    "junit": (lambda folder, text: render_junit(reviewed(text)), xml),
    "open metrics": (lambda folder, text: render_open_metrics(reviewed(text).comparison), metrics),
    **{f"export {name}": (partial(export, name), shape) for name in EXPORTS},
    "annotations": (
        lambda folder, text: "\n".join(each.command() for each in annotations_of(reviewed(text), folder)),
        commands,
    ),
}


@pytest.mark.lengthy
@pytest.mark.parametrize("output", OUTPUTS)
def test_hostile_text_changes_no_structure(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    make, structure = OUTPUTS[output]
    structures = {}
    for name, text in {"plain": PLAIN, **HOSTILE}.items():
        folder = tmp_path / name
        folder.mkdir()
        structures[name] = structure(make(folder, text))
    changed = [name for name, each in structures.items() if each != structures["plain"]]
    assert changed == []


@pytest.mark.browser
@pytest.mark.slow
def test_no_script_of_a_text_runs_in_a_browser(tmp_path: Path) -> None:
    from tests.report.browser.tab import chromium, new_tab

    with chromium() as browser:
        for name, text in HOSTILE.items():
            folder = tmp_path / name
            folder.mkdir()
            page(folder, text)
            site(folder, text)
            for place in (folder / "page" / "report.html", folder / "site" / "index.html"):
                with new_tab(browser) as tab:
                    tab.open(place)
                    tab.settle()
                    assert tab.page.title() != "bad"
                    assert tab.problems == [], (name, place.name)


@pytest.mark.parametrize(
    "about", [{}, {"statements": 3}, {"statements": []}, {"explaining": 1, "shown": 2, "count": []}]
)
def test_a_fuzz_run_whose_header_is_damaged_is_shown(about: dict[str, Any], tmp_path: Path) -> None:
    trials = [record for record in EXAMPLE_RECORDS if record["kind"] == "fuzz_trial"]
    (tmp_path / "results.json").write_text(json.dumps({**EXAMPLE, "fuzz": about, "records": trials}))
    assert "a statement" in _run_command(["show", str(tmp_path / "results.json")])


@pytest.mark.parametrize("value", [1e15, -1e15])
def test_a_fuzz_run_with_impossible_ratios_is_refused(value: float, tmp_path: Path) -> None:
    trials = [{**record, "log_ratio": value} for record in EXAMPLE_RECORDS if record["kind"] == "fuzz_trial"]
    (tmp_path / "results.json").write_text(json.dumps({**EXAMPLE, "records": trials}))
    assert "the log of the ratio" in _run_command(["show", str(tmp_path / "results.json")])
