"""Comparison, fuzz map and ladder in a real browser; the look in the dark, on a phone, on paper; hostile labels."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from photometer.report.page.plot_files import write_plots
from photometer.report.page.view_report import report_view
from tests.report.browser.chromium import Tab
from tests.report.browser.conftest import PAGES, PICTURES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Pages = Callable[[str], Path]
ROWS = "[...document.querySelectorAll('tr.line')]"
NAMES = ("run", "comparison", "fuzz", "ladder")


def luminance(colour: str) -> float:
    """Of `rgb(1, 2, 3)`, from 0 to 1, roughly as the eye sees it."""
    red, green, blue = (float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def test_a_comparison_shows_verdicts_first(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("comparison"))
    tab.picture(PICTURES / "comparison.png")
    tiles = tab.run("[...document.querySelectorAll('.tile')].map(t => t.innerText.replace(/\\s+/g, ' '))")
    assert tiles == ["3 slower", "2 undecided", "2 faster", "145 same"]
    words = tab.run(f"{ROWS}.slice(0, 8).map(r => r.querySelector('.verdict').textContent.slice(1))")
    assert words == ["slower"] * 3 + ["undecided"] * 2 + ["faster"] * 2 + ["same"]
    tab.run("document.querySelector('.tile.is-undecided').click()")
    assert tab.run(f"{ROWS}.length") == 2
    tab.run("document.querySelector('.tile.is-undecided').click()")
    assert tab.run(f"{ROWS}.length") > 100
    assert tab.run("document.querySelectorAll('[data-figure] .mark').length") == 152


def test_a_slower_benchmark_shows_why(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("comparison"))
    tab.run("document.querySelector('.told a').click()")
    tab.wait_for("document.querySelectorAll('.icicle .frame').length > 5")
    tab.picture(PICTURES / "comparison-detail.png")
    shown = tab.run("document.querySelector('.detail-body').innerText")
    for said in (
        "Slower by 6.7",
        "More instructions and slower",
        "Differential flame graph",
        "at::TensorIteratorBase::build",
    ):
        assert said in shown, said
    assert tab.run("document.querySelectorAll('.dots').length") == 2
    assert "Luck of the layout" in tab.run("document.querySelector('.detail-body').textContent")
    gained = tab.run("[...document.querySelectorAll('.frame.gained-3')].map(f => f.getAttribute('aria-label'))")
    assert len(gained) == 1, "the guilty function and not those that lead to it"
    assert "TensorIteratorBase::build" in gained[0]


def test_a_point_of_the_scatter_leads_to_its_benchmark(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("comparison"))
    tab.run("document.querySelector('[data-figure] .mark.is-slower').dispatchEvent(new MouseEvent('click'))")
    tab.wait_for("document.querySelector('.detail-body') !== null")
    assert "slower" in tab.run("document.querySelector('tr.open').innerText")


def test_tooltips_tell_what_a_mark_is(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("fuzz"))
    moved = "new PointerEvent('pointermove', {clientX: 200, clientY: 200})"
    tab.run(f"document.querySelector('[data-figure] .mark.is-branch').dispatchEvent({moved})")
    told = tab.run("document.querySelector('.tip').innerText")
    assert "not contiguous" in told
    assert "ratio of the times" in told
    tab.press("Escape")
    assert tab.run("document.querySelector('.tip').hidden")


def test_the_fuzz_map_and_the_ladder_are_drawn(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("fuzz"))
    tab.picture(PICTURES / "fuzz.png")
    assert tab.run("document.querySelectorAll('[data-figure] .mark').length") == 120
    assert "Slower where x is not contiguous" in tab.run("document.body.innerText")
    tab.open(page_of("ladder"))
    tab.picture(PICTURES / "ladder.png")
    assert tab.run("document.querySelectorAll('[data-figure] .bar').length") == 12
    assert "+ 600 instr." in tab.run("document.querySelector('[data-figure]').textContent")


@pytest.mark.parametrize("name", NAMES)
def test_dark_and_light(tab: Tab, page_of: Pages, name: str) -> None:
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    tab.look(dark=True)
    tab.open(page_of(name))
    tab.picture(PICTURES / f"{name}-dark.png")
    paper, ink = tab.run(colours)
    assert luminance(paper) < 0.2 < 0.7 < luminance(ink)
    tab.run("document.getElementById('theme').click()")
    paper, ink = tab.run(colours)
    assert luminance(paper) > 0.9 > 0.3 > luminance(ink)


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_needs_no_sideways_scrolling(tab: Tab, page_of: Pages, name: str) -> None:
    tab.look(390, 844, phone=True)
    tab.open(page_of(name))
    if tab.run(f"{ROWS}.length"):
        tab.run(f"{ROWS}[0].click()")
        tab.wait_for("document.querySelector('.detail-body svg') !== null")
    tab.picture(PICTURES / f"{name}-phone.png")
    assert tab.run("document.documentElement.scrollWidth") <= 390


def test_printed_it_is_black_on_white_without_controls(tab: Tab, page_of: Pages) -> None:
    tab.look(dark=True)
    tab.open(page_of("run"))
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert luminance(tab.run("getComputedStyle(document.body).backgroundColor")) > 0.99
    assert tab.run("getComputedStyle(document.querySelector('.controls')).display") == "none"
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    assert tab.run(f"{ROWS}.length") == 166
    answer = tab.call("Page.printToPDF", printBackground=True)
    printed = base64.b64decode(answer["data"])
    (PICTURES / "run.pdf").write_bytes(printed)
    assert printed.startswith(b"%PDF")
    tab.call("Emulation.setEmulatedMedia", media="")


def test_hostile_labels_do_nothing(tab: Tab, page_of: Pages) -> None:
    tab.call("Page.addScriptToEvaluateOnNewDocument", source="window.alert = (x) => { window.alarmed = x; };")
    tab.open(page_of("hostile"))
    for i in range(2):
        tab.run(f"{ROWS}[{i}].click()")
    tab.wait_for("document.querySelectorAll('.detail-body').length === 2")
    tab.settle()
    tab.picture(PICTURES / "hostile.png")
    assert tab.run("window.alarmed === undefined")
    assert tab.run("document.querySelectorAll('img').length") == 0
    shown = tab.run("document.body.innerText")
    assert "<img src=x onerror=alert(2)>" in shown
    assert "\\u202e" in shown
    assert "\u202e" not in shown
    assert tab.run("document.querySelectorAll('script').length") == 3


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
