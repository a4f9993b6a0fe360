"""Tables as Markdown and as HTML: every cell is there, and hostile names stay text."""

from __future__ import annotations

import re

from photometer.analysis.table import Colorize, Reference, Table, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.report.tables.markup import render_html, render_markdown, render_page
from tests.analysis.measurements import made
from tests.report.test_notebook import HOSTILE, Reader

MARKDOWN = "a|b`c`\n# <img src=x onerror=alert(1)> **x** [l](http://e) \\"


def columns_of(line: str) -> int:
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1


def test_a_pipe_table_with_its_unit() -> None:
    [table] = tabulate([made(1e-6, "a", "x", spread=0), made(2e-6, "b", "x", spread=0)])
    assert render_markdown(table) == (
        "### L\n\n|  | x |\n| :--- | ---: |\n| a | 1.0 |\n| b | 2.0 |\n\nTimes are in microseconds (us).\n"
    )


def test_blocks_and_envs() -> None:
    measurements = [made(1e-6, env=env, num_threads=n) for env in ("e", None) for n in (1, 4)]
    [table] = tabulate(measurements)
    text = render_markdown(table)
    assert "**1 thread**" in text
    assert "**4 threads**" in text
    assert "| env |  | c |" in text


def test_the_best_is_bold() -> None:
    [table] = tabulate([made(1e-6, "a"), made(3e-6, "b")], TableRequest(colorize=Colorize.COLUMNWISE))
    assert len(re.findall(r"\*\*[\d.]+\*\*", render_markdown(table))) == 1


def test_hostile_text_stays_in_its_markdown_cell() -> None:
    [table] = tabulate([made(1e-6, MARKDOWN, MARKDOWN, label=MARKDOWN, env=e) for e in (MARKDOWN, "f")])
    text = render_markdown(table)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {columns_of(row) for row in rows} == {3}
    assert "<img" not in text
    assert "[l]" not in text
    assert "http://" not in text
    assert sum(line.startswith("#") for line in text.splitlines()) == 1


def full(*, hostile: bool = False) -> Table:
    text = HOSTILE if hostile else "text"
    measurements = [
        made(t, f"{text}{t}", text, label=text, env=env, num_threads=n, spread=0.2)
        for t in (1e-6, 1.05e-6, 3e-6, 9e-6)
        for env in (text, None)
        for n in (1, 4)
    ]
    request = TableRequest(True, True, Colorize.COLUMNWISE, Reference(), "×")
    [table] = tabulate(measurements, request)
    return table


def test_every_cell_and_row_is_there_and_tags_balance() -> None:
    page = Reader(render_html(full()))
    assert page.open == []
    assert page.tags.count("td") == 16
    assert page.tags.count("tbody") == 2


def test_details_are_in_the_title() -> None:
    text = render_html(full())
    assert "95 % interval" in text
    assert "40 samples" in text


def test_hostile_text_is_only_text_in_html() -> None:
    for text in (render_html(full(hostile=True)), render_page([full(hostile=True)], HOSTILE, [HOSTILE])):
        page = Reader(
            text.replace("<!DOCTYPE html>", "").replace('<meta charset="utf-8">', "").replace("<meta name", "<br name")
        )
        assert "script" not in page.tags
        assert page.open == []
        assert not any(name.startswith("on") for name in page.attributes)
        text.encode("utf-8")


def test_page_stands_alone() -> None:
    text = render_page([full()], "title", ["a note"])
    assert text.startswith("<!DOCTYPE html>")
    assert "http" not in text
    assert "<p>a note</p>" in text
