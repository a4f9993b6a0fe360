"""Figures on pages are those that a benchmark script wrote: docs/figures/NAME.json, named in a comment.

`<!-- figures: NAME -->` stands before a table whose first cells, joined by a comma, are the names of the file's rows.
`<!-- figure: NAME#ROW, NAME#ROW -->` stands before a paragraph or an item that has all values of these rows.
README has no other figures of speed or precision. Pages that are not held yet are listed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMENT = re.compile(r"^<!-- figures?: (?P<names>.+?) -->$")
OUTPUT = re.compile(r"^<!-- output: (\S+) -->\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A number with a unit of speed, size or share, in running text or a table.
FIGURE = re.compile(r"\d[\d,.]* ?(?:%|(?:ns|us|ms|s|min|seconds?|minutes?|times|MB|MiB|GB|instructions)\b)")
# Tables of these are not held, or not all: they need a GPU, hours, or a script that keeps its data; or are advice.
NOT_HELD = {
    "ab.md",  # advice
    "compare-environments.md",  # detection_power: hours; its trials were not kept
    "cpp.md",  # cpp_build
    "doctor.md",
    "gpu.md",  # gpu_modes: a GPU
    "history-site.md",  # change_points, history_site
    "instruction-counts.md",  # instruction_counts, exactness
    "overrides.md",  # overrides_tables
    "performance.md",  # standard_suite: an hour
    "rates.md",
    "repeatability.md",
    "scale.md",
    "pytest.md",
    "ray.md",
    "ci.md",
    "what-noise-is.md",  # a summary of figures on other pages
}
# So many figures make a table one of results and not of examples.
FEWEST_FIGURES = 3


def table_of(name: str) -> dict[str, Any]:
    path = FIGURES / f"{name}.json"
    assert path.is_file(), f"docs/figures/{name}.json is missing: its benchmark writes it with --figures"
    table: dict[str, Any] = json.loads(path.read_text())
    assert (ROOT / table["script"]).is_file(), f"{path}: there is no {table['script']}"
    return table


def blocks(page: Path) -> Iterator[tuple[str | None, str]]:
    """Yield paragraphs and tables, with what the comment before each names; blocks of code are left out."""
    names: str | None = None
    lines: list[str] = []
    code = False
    for line in [*page.read_text().splitlines(), ""]:
        if line.lstrip().startswith("```"):
            code = not code
        found = COMMENT.match(line)
        if found or not line.strip() or line.lstrip().startswith("```"):
            if lines:
                yield names, "\n".join(lines)
                names, lines = None, []
            names = found["names"] if found else names
        elif not code:
            lines.append(line)


def check_table(names: str, text: str) -> None:
    rows = table_of(names)["rows"]
    body = [[cell.strip().strip("`") for cell in line.strip().strip("|").split("|")] for line in text.splitlines()[2:]]
    for cells in body:
        key = next((k for k in range(1, len(cells)) if ", ".join(cells[:k]) in rows), None)
        assert key is not None, f"{names} has no row {cells[0]!r}"
        shown = [value for value in cells[key:] if value]
        assert shown == [value for value in rows[", ".join(cells[:key])] if value], f"{names}, {cells[0]}"


def check_paragraph(names: str, text: str) -> None:
    for name in names.split(", "):
        file, _, row = name.partition("#")
        rows = table_of(file)["rows"]
        assert row in rows, f"{file}.json has no row {row!r}"
        for value in rows[row]:
            assert value in text, f"{name} is {value}, which is not in: {text[:80]}…"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_figures_are_those_of_the_scripts(page: Path) -> None:
    for names, text in blocks(page):
        if names is None:
            continue
        if text.startswith("|"):
            check_table(names, text)
        else:
            check_paragraph(names, text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_outputs_are_those_that_were_captured(page: Path) -> None:
    for match in OUTPUT.finditer(page.read_text()):
        captured = (ROOT / match[1]).read_text().partition("\n")[2]
        assert match[2].strip() == captured.strip(), f"{page.name}: not what {match[1]} has"


def test_every_file_of_figures_is_shown() -> None:
    shown = " ".join(names for page in PAGES for names, _ in blocks(page) if names is not None)
    for path in FIGURES.glob("*.json"):
        assert path.stem in shown, f"no page shows {path.name}"


def test_readme_has_no_figure_without_a_source() -> None:
    for names, text in blocks(ROOT / "README.md"):
        if names is None and not text.startswith("<!-- not held:"):
            found = FIGURE.findall(text)
            assert not found, f"{found} in README.md: name the file and the row in a comment, or leave it out: {text}"


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_tables_of_figures_are_held_or_listed(page: Path) -> None:
    free = [
        text
        for names, text in blocks(page)
        if names is None and text.startswith("|") and len(FIGURE.findall(text)) >= FEWEST_FIGURES
    ]
    assert not free or page.name in NOT_HELD, f"{page.name}: name where the figures are from: {free[0][:200]}"
