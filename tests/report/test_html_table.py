from __future__ import annotations

from photometer.analysis.table import Colorize, Reference, Table, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.report.html_table import render_html, render_page
from tests.analysis.measurements import made
from tests.report.test_notebook import HOSTILE, Reader


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


def test_hostile_text_is_only_text() -> None:
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
