"""Flame graphs in a real browser: zoom, search, details; and that nothing in a name is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from photometer.report.flame_graph import render_flame_difference, render_flame_graph
from tests.report.browser.tab import Tab

pytestmark = pytest.mark.browser

STACKS = [(("f", "g"), 60.0), (("f", "h"), 30.0), (("other",), 10.0)]


@pytest.fixture
def graph(tab: Tab, tmp_path: Path) -> Tab:
    path = tmp_path / "graph.svg"
    path.write_text(render_flame_graph(STACKS, "x", root="loop"), encoding="utf-8")
    tab.open(path)
    return tab


def shown(tab: Tab) -> dict[str, float]:
    """Names and widths of the frames that are drawn."""
    return dict(
        tab.run(
            "document.documentElement.flame.frames.filter(f => f.g.style.display !== 'none')"
            ".map(f => [f.name, Number(f.rect.getAttribute('width'))])"
        )
    )


def click(tab: Tab, name: str) -> None:
    tab.run(
        f"document.documentElement.flame.frames.find(f => f.name === {name!r}).g"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )


def test_a_click_zooms_and_reset_goes_back(graph: Tab) -> None:
    before = shown(graph)
    assert set(before) == {"loop", "f", "g", "h", "other"}
    click(graph, "f")
    zoomed = shown(graph)
    assert set(zoomed) == {"loop", "f", "g", "h"}
    assert zoomed["f"] == pytest.approx(before["loop"], abs=0.1)
    assert zoomed["g"] == pytest.approx(before["loop"] * 60 / 90, abs=1)
    expect(graph.find("#reset")).to_be_visible()
    graph.find("#reset").click()
    assert shown(graph) == before


def test_it_is_as_wide_as_the_window_and_dark_if_the_system_is(graph: Tab) -> None:
    graph.page.set_viewport_size({"width": 700, "height": 500})
    graph.settle()
    assert shown(graph)["loop"] == pytest.approx(680, abs=1)
    paper = "getComputedStyle(document.querySelector('.paper')).fill"
    assert graph.run(paper) == "rgb(255, 255, 255)"
    graph.page.emulate_media(color_scheme="dark")
    assert graph.run(paper) != "rgb(255, 255, 255)"


def test_search_marks_frames_and_counts_each_part_once(graph: Tab) -> None:
    graph.run("document.documentElement.flame.find('^[fg]$')")
    hits = graph.run(
        "document.documentElement.flame.frames.filter(f => f.g.classList.contains('hit')).map(f => f.name)"
    )
    assert hits == ["f", "g"]
    expect(graph.find("#matched")).to_have_text("matched: 90.0 %")
    # Not a regular expression: looked for as it is.
    graph.run("document.documentElement.flame.find('other(')")
    expect(graph.find("#matched")).to_have_text("matched: 0.0 %")


def test_pointing_at_a_frame_tells_its_figures(graph: Tab) -> None:
    graph.run(
        "document.documentElement.flame.frames.find(f => f.name === 'g').g.dispatchEvent(new MouseEvent('mouseenter'))"
    )
    assert graph.find("#details").text_content() == "g   60.0 ns per run, 60.0 %"


def test_a_hostile_name_is_text(tab: Tab, tmp_path: Path) -> None:
    name = "<img src=x onerror='window.broken=1'></title><script>window.broken=1</script>"
    path = tmp_path / "hostile.svg"
    path.write_text(render_flame_difference([((name,), 1.0)], [((name,), 2.0)], name, root=name), encoding="utf-8")
    tab.open(path)
    click(tab, name)
    assert tab.run("window.broken === undefined")
    assert tab.run(f"document.documentElement.flame.frames[1].name === {name!r}")
