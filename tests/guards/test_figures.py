"""Every figure on a page has a source: a table that a benchmark script wrote, or a comment that says where it is from.

Before the table, paragraph or list with the figures stands one of

    <!-- figures: NAME -->                        a table of docs/figures/NAME.json: first cells are names of its rows
    <!-- figure: NAME#ROW, NAME#ROW -->           a paragraph or item that has all values of these rows
    <!-- printed: NAME -->                        all figures are in docs/figures/NAME.txt, which a script printed
    <!-- measured: benchmarks/X.py, DATE -->      taken by that script, which the page names; not compared
    <!-- measured: by hand, DATE -->              seen once, without a script: about so much
    <!-- no measurement: WORD -->                 a setting, a definition, an example or a model on paper

README has held figures only.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.guards.sources import PAGES, ROOT, check_each

FIGURES = ROOT / "docs" / "figures"
COMMENT = re.compile(r"^<!-- (?P<kind>figures?|printed|measured|no measurement): (?P<names>.+?) -->$")
# Names of rows may have commas.
NEXT_NAME = re.compile(r", (?=[^,#]+#)")
NOT_TAKEN = "–"
COMMENT_LINES = re.compile(r"^<!--.*-->$", re.MULTILINE)
DATE = re.compile(r"20\d\d-\d\d-\d\d")
NO_MEASUREMENT = ("setting", "definition", "example", "model")
OUTPUT = re.compile(r"^<!-- output: (\S+) -->\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A number with a unit of speed, size or share, in running text or a table.
FIGURE = re.compile(r"\d[\d,.]* ?(?:%|(?:ns|us|ms|s|min|seconds?|minutes?|times|MB|MiB|GB|instructions)\b)")


# A number by itself, with the digits that a page shows of it.
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?")


@dataclasses.dataclass(frozen=True)
class Block:
    """A paragraph, list or table: what the comment before it says, if there is one."""

    kind: str
    names: str
    text: str

    @property
    def is_held(self) -> bool:
        return self.kind.startswith("figure") or self.kind == "printed"


def table_of(name: str) -> dict[str, Any]:
    path = FIGURES / f"{name}.json"
    assert path.is_file(), f"docs/figures/{name}.json is missing: its benchmark writes it with --figures"
    table: dict[str, Any] = json.loads(path.read_text())
    assert (ROOT / table["script"]).is_file(), f"{path}: there is no {table['script']}"
    return table


def blocks(page: Path) -> Iterator[Block]:
    """Yield paragraphs, lists and tables; blocks of code are left out."""
    kind = names = ""
    lines: list[str] = []
    code = False
    for line in [*page.read_text().splitlines(), ""]:
        if line.lstrip().startswith("```"):
            code = not code
        found = COMMENT.match(line)
        if found or not line.strip() or line.lstrip().startswith("```"):
            if lines:
                yield Block(kind, names, "\n".join(lines))
                kind, names, lines = "", "", []
            kind, names = (found["kind"], found["names"]) if found else (kind, names)
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


def numbers(text: str) -> list[str]:
    return [number.replace(",", "").replace("−", "-").lstrip("+") for number in NUMBER.findall(text)]


def shows(shown: str, printed: str) -> bool:
    """Whether a page may show this for what was printed: the same, or rounded."""
    decimals = len(shown.partition(".")[2])
    return abs(float(printed) - float(shown)) <= 0.5 * 10**-decimals * (1 + 1e-9)


def is_printed(wanted: list[str], line: str) -> bool:
    """Whether a line has these numbers, in their order."""
    rest = iter(numbers(line))
    return all(any(shows(number, printed) for printed in rest) for number in wanted)


def check_printed(name: str, text: str) -> None:
    """Hold the rows of a table to lines of the output, and the figures of a text to its numbers."""
    path = FIGURES / f"{name}.txt"
    assert path.is_file(), f"docs/figures/{name}.txt is missing: python benchmarks/figures.py benchmarks/{name}.py"
    output = path.read_text().splitlines()[2:]
    if text.startswith("|"):
        for row in text.splitlines()[2:]:
            wanted = numbers(row)
            assert any(is_printed(wanted, line) for line in output), f"{path.name} has no line with {wanted}"
        return
    # In running text a figure may be said without its sign.
    printed = [number.lstrip("-") for line in output for number in numbers(line)]
    for figure in FIGURE.findall(text):
        (number,) = numbers(figure.rstrip(".,"))[:1]
        assert any(shows(number, each) for each in printed), f"{path.name} has no {figure}"


def check_paragraph(names: str, text: str) -> None:
    for name in NEXT_NAME.split(names):
        file, _, row = name.partition("#")
        rows = table_of(file)["rows"]
        assert row in rows, f"{file}.json has no row {row!r}"
        for value in rows[row]:
            assert value == NOT_TAKEN or value in text, f"{name} is {value}, which is not in: {text[:80]}…"


def check_figures(page: Path) -> None:
    for block in blocks(page):
        if block.kind == "printed":
            check_printed(block.names, block.text)
        elif block.is_held and block.text.startswith("|"):
            check_table(block.names, block.text)
        elif block.is_held:
            check_paragraph(block.names, block.text)


def test_figures_are_those_of_the_scripts() -> None:
    check_each(PAGES, check_figures)


def check_outputs(page: Path) -> None:
    for match in OUTPUT.finditer(page.read_text()):
        captured = (ROOT / match[1]).read_text().partition("\n")[2]
        assert match[2].strip() == captured.strip(), f"{page.name}: not what {match[1]} has"


def test_outputs_are_those_that_were_captured() -> None:
    check_each(PAGES, check_outputs)


def test_every_file_of_figures_is_shown() -> None:
    shown = " ".join(block.names for page in PAGES for block in blocks(page) if block.is_held)
    for path in FIGURES.iterdir():
        assert path.stem in shown, f"no page shows {path.name}"


def test_readme_has_held_figures_only() -> None:
    for block in blocks(ROOT / "README.md"):
        found = FIGURE.findall(block.text)
        assert block.is_held or not found, f"{found} in README.md: name the file and the row, or leave it out"


def check_that_figures_have_sources(page: Path) -> None:
    for block in blocks(page):
        found = FIGURE.findall(block.text)
        assert block.kind or not found, f"{page.name}: name where {found[:3]} are from: {block.text[:200]}"


def test_every_figure_has_a_source() -> None:
    check_each(PAGES[1:], check_that_figures_have_sources)


def check_sources(page: Path) -> None:
    for block in blocks(page):
        if block.kind == "measured":
            script, comma, date = block.names.rpartition(", ")
            assert comma, f"{page.name}: {block.names} has no date"
            assert DATE.fullmatch(date), f"{page.name}: {date} is no date"
            assert script == "by hand" or (ROOT / script).is_file(), f"{page.name}: there is no {script}"
            assert script == "by hand" or Path(script).stem in COMMENT_LINES.sub("", page.read_text()), (
                f"{page.name}: readers are not told of {script}"
            )
        elif block.kind == "no measurement":
            assert block.names in NO_MEASUREMENT, f"{page.name}: {block.names}"


def test_sources_exist() -> None:
    check_each(PAGES, check_sources)


def test_what_is_printed_is_held() -> None:
    check_printed("exactness", "All orders.")
    assert shows("48", "47.9")
    assert not shows("48.0", "47.9")
    assert is_printed(["1083", "54.2"], "| torch | 1,083 | 54.15 |")
    assert not is_printed(["54.2", "1083"], "| torch | 1083 | 54.15 |")
    with pytest.raises(AssertionError, match="has no 9,999 times"):
        check_printed("exactness", "It is 9,999 times faster.")


def check_what_can_be_held(page: Path) -> None:
    for block in blocks(page):
        script = Path(block.names.partition(", ")[0]).stem
        assert block.kind != "measured" or not (FIGURES / f"{script}.txt").exists(), (
            f"{page.name}: say <!-- printed: {script} -->"
        )


def test_what_can_be_held_is() -> None:
    check_each(PAGES, check_what_can_be_held)
