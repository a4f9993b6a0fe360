"""Comparison, fuzz map and ladder in a real browser; the look in the dark, on a phone, on paper; hostile labels."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from playwright.sync_api import expect

from photometer.report.page.page import render_fuzz_page
from photometer.report.page.plot_files import write_plots
from photometer.report.page.view_report import report_view
from tests.report.browser.conftest import PAGES, PHONE_WIDTH, PICTURES, Pages
from tests.report.browser.tab import Tab
from tests.report.test_fuzz_text import usual

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROW = "tr.line"
NAMES = ("run", "comparison", "fuzz", "ladder", "sweep")


def luminance(colour: str) -> float:
    """Of `rgb(1, 2, 3)`, from 0 to 1, roughly as the eye sees it."""
    red, green, blue = (float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def test_a_comparison_shows_verdicts_first(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("comparison"))
    tab.picture(PICTURES / "comparison.png")
    rows = tab.find(ROW)
    tiles = [" ".join(text.split()) for text in tab.find(".tile").all_inner_texts()]
    assert tiles == ["3 slower", "2 undecided", "2 faster", "145 same", "0 identical"]
    words = [text[1:] for text in tab.find(f"{ROW} .verdict").all_text_contents()[:8]]
    assert words == ["slower"] * 3 + ["undecided"] * 2 + ["faster"] * 2 + ["same within 0.5 %"]
    tab.find(".tile.is-undecided").click()
    expect(rows).to_have_count(2)
    tab.find(".tile.is-undecided").click()
    assert rows.count() > 100
    expect(tab.find("[data-figure] .mark")).to_have_count(152)


def test_a_slower_benchmark_shows_why(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("comparison"))
    tab.find(".findings a").first.click()
    expect(tab.find(".icicle .frame").nth(5)).to_be_attached()
    tab.picture(PICTURES / "comparison-detail.png")
    shown = tab.find(".detail-body").inner_text()
    for said in (
        "Slower by 6.7",
        "More instructions and slower",
        "Differential flame graph",
        "at::TensorIteratorBase::build",
    ):
        assert said in shown, said
    expect(tab.find(".dots")).to_have_count(2)
    expect(tab.find(".detail-body")).to_contain_text("Memory layouts")
    gained = tab.find(".frame.gained-3")
    assert gained.count() == 1, "the guilty function and not those that lead to it"
    assert "TensorIteratorBase::build" in (gained.get_attribute("aria-label") or "")


def test_a_point_of_the_scatter_leads_to_its_benchmark(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("comparison"))
    # Points may lie on each other, so the event is sent to the one that is meant.
    tab.find("[data-figure] .mark.is-slower").first.dispatch_event("click")
    expect(tab.find(".detail-body")).to_be_visible()
    expect(tab.find("tr.open")).to_contain_text("slower", use_inner_text=True)


def test_tooltips_tell_what_a_mark_is(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("fuzz"))
    at = {"clientX": 200, "clientY": 200}
    tab.find("[data-figure] .mark.is-branch").first.dispatch_event("pointermove", at)
    tip = tab.find(".tip")
    told = tip.inner_text()
    assert "not contiguous" in told
    assert "ratio of the times" in told
    tab.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_the_fuzz_map_and_the_ladder_are_drawn(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("fuzz"))
    tab.picture(PICTURES / "fuzz.png")
    expect(tab.find("[data-figure] .mark")).to_have_count(120)
    expect(tab.find("body")).to_contain_text("Slower where x is not contiguous", use_inner_text=True)
    tab.open(page_of("ladder"))
    tab.picture(PICTURES / "ladder.png")
    expect(tab.find("[data-figure] .bar")).to_have_count(12)
    expect(tab.find("[data-figure]").first).to_contain_text("+516 instr.")


def test_the_page_of_a_fuzz_run_draws_its_chart(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_fuzz_page(usual()), encoding="utf-8")
    tab.open(path)
    marks = tab.find("path.mark.is-base[d], path.mark.is-branch[d]")
    assert marks.count() == 32, "30 inputs and the legend"


@pytest.mark.parametrize("name", NAMES)
def test_dark_and_light(tab: Tab, page_of: Pages, name: str) -> None:
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    tab.page.emulate_media(color_scheme="dark")
    tab.open(page_of(name))
    tab.picture(PICTURES / f"{name}-dark.png")
    paper, ink = tab.run(colours)
    assert luminance(paper) < 0.2 < 0.7 < luminance(ink)
    tab.find("#theme").click()
    paper, ink = tab.run(colours)
    assert luminance(paper) > 0.9 > 0.3 > luminance(ink)


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_needs_no_sideways_scrolling(phone: Tab, page_of: Pages, name: str) -> None:
    phone.open(page_of(name))
    rows = phone.find(ROW)
    if rows.count():
        rows.first.click()
        expect(phone.find(".detail-body svg").first).to_be_attached()
    phone.picture(PICTURES / f"{name}-phone.png")
    assert phone.run("document.documentElement.scrollWidth") <= PHONE_WIDTH


def test_printed_it_is_black_on_white_without_controls(tab: Tab, page_of: Pages) -> None:
    tab.page.emulate_media(color_scheme="dark")
    tab.open(page_of("run"))
    tab.page.emulate_media(color_scheme="dark", media="print")
    assert luminance(tab.run("getComputedStyle(document.body).backgroundColor")) > 0.99
    expect(tab.find(".controls").first).to_have_css("display", "none")
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    # Python and C++ stand side by side.
    expect(tab.find(ROW)).to_have_count(84)
    printed = tab.page.pdf(path=PICTURES / "run.pdf", print_background=True)
    assert printed.startswith(b"%PDF")


def test_hostile_labels_do_nothing(tab: Tab, page_of: Pages) -> None:
    tab.page.add_init_script("window.alert = (x) => { window.alarmed = x; };")
    tab.open(page_of("hostile"))
    for i in range(2):
        tab.find(ROW).nth(i).click()
    expect(tab.find(".detail-body")).to_have_count(2)
    tab.settle()
    tab.picture(PICTURES / "hostile.png")
    assert tab.run("window.alarmed === undefined")
    expect(tab.find("img")).to_have_count(0)
    shown = tab.find("body").inner_text()
    assert "<img src=x onerror=alert(2)>" in shown
    assert "\\u202e" in shown
    assert "\u202e" not in shown
    expect(tab.find("script")).to_have_count(3)


def test_the_policy_stops_what_an_attacker_would_try(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.run("""(() => { const s = document.createElement('script'); s.textContent = 'window.alarmed = 1';
        document.body.append(s); })()""")
    assert tab.run("window.alarmed === undefined")
    outcome = tab.run("fetch('http://127.0.0.1:9/x').then(() => 'went out', () => 'stopped')")
    assert outcome == "stopped"
    assert any("Content Security Policy" in problem for problem in tab.problems)
    tab.problems.clear()
    tab.requests[:] = [address for address in tab.requests if "127.0.0.1:9" not in address]


def test_plots_become_pictures(tmp_path: Path) -> None:
    written = write_plots(report_view(PAGES["ladder"]()), tmp_path)
    pictures = [path for path in written.paths if path.suffix == ".png"]
    assert [path.name for path in pictures] == ["ladder-1.png", "ladder-2.png", "time-of-instructions.png"]
    width, height, colours = looked_at(pictures[0])
    assert (width, height) == (1720, 2 * (42 + 6 * 24 + 52))
    assert colours > 20, "it is not blank"


def looked_at(picture: Path) -> tuple[int, int, int]:
    """Width, height, and how many different lines of pixels an unfiltered reading of the data has."""
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    data, at = b"", 8
    while at < len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        if content[at + 4 : at + 8] == b"IDAT":
            data += content[at + 8 : at + 8 + length]
        at += 12 + length
    pixels = zlib.decompress(data)
    stride = len(pixels) // height
    return width, height, len({pixels[row * stride : (row + 1) * stride] for row in range(height)})
