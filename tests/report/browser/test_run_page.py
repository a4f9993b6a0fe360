"""The page of a run in a real browser: sorting, filtering, folding, details, links, keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.browser.chromium import Tab
from tests.report.browser.conftest import PICTURES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Pages = Callable[[str], Path]
ROWS = "[...document.querySelectorAll('tr.line')]"
NAMES = f"{ROWS}.map(row => row.querySelector('.title').textContent)"


def type_into_search(tab: Tab, text: str) -> None:
    tab.run(f"document.querySelector('.search').value = {text!r}")
    tab.run("document.querySelector('.search').dispatchEvent(new Event('input'))")


def all_rows(tab: Tab) -> int:
    """Scrolls until no more rows come."""
    tab.run("""(async () => { let before = -1; while (before !== document.querySelectorAll('tr.line').length) {
        before = document.querySelectorAll('tr.line').length; window.scrollTo(0, 1e9);
        await new Promise(done => setTimeout(done, 60)); } window.scrollTo(0, 0); })()""")
    return int(tab.run(f"{ROWS}.length"))


def test_every_benchmark_is_there_with_time_and_instructions(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.picture(PICTURES / "run.png")
    assert all_rows(tab) == 166
    first = tab.run(f"{ROWS}[0].innerText")
    assert "no elements" in first
    assert "µs" in first
    assert tab.run("document.querySelectorAll('td.chart svg .mark').length") == 166
    assert tab.run("document.querySelectorAll('.caution').length") == 2


def test_sorting_by_a_column_and_back(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    before = tab.run(NAMES)
    tab.run("document.querySelector('.check input').click()")
    click = "[...document.querySelectorAll('.sort')].find(b => b.textContent === 'Instructions').click()"
    numbers = f"{ROWS}.map(r => Number(r.querySelectorAll('td.right')[2].innerText.replace(/,/g, '')))"
    tab.run(click)
    falling = tab.run(numbers)
    assert falling == sorted(falling, reverse=True)
    assert tab.run("document.querySelector('th[aria-sort=descending]').innerText").startswith("Instructions")
    tab.run(click)
    rising = tab.run(numbers)
    assert rising == sorted(rising)
    tab.run(click)
    tab.run("document.querySelector('.check input').click()")
    assert tab.run(NAMES) == before


def test_filtering_by_text_and_tag(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    type_into_search(tab, "matmul CPP")
    names = tab.run(f"{ROWS}.map(r => r.innerText)")
    assert names
    assert all("cpp" in name for name in names)
    assert " of 166 benchmarks" in tab.run("document.querySelector('.status').textContent")
    type_into_search(tab, "torch::zeros_like")
    assert tab.run(f"{ROWS}.length") == 1, "the code is searched too"
    type_into_search(tab, "no such thing")
    assert tab.run("document.querySelector('.none').textContent") == "Nothing matches."
    type_into_search(tab, "")
    for word in ("torchscript", "python"):
        tab.run(f"[...document.querySelectorAll('.tag')].find(t => t.textContent === '{word}').click()")
    shown = tab.run(f"{ROWS}.map(r => r.querySelector('.words').textContent)")
    assert shown
    assert all("torchscript" in words and "python" in words for words in shown)
    assert tab.run("document.querySelectorAll('.tag[aria-pressed=true]').length") == 2


def test_folding_one_group_and_all(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    group = "document.querySelector('button.fold')"
    assert tab.run(f"{group}.getAttribute('aria-expanded')") == "true"
    first = tab.run(f"{NAMES}[0]")
    tab.run(f"{group}.click()")
    assert tab.run(f"{group}.getAttribute('aria-expanded')") == "false"
    assert tab.run(f"{NAMES}[0]") != first
    tab.run("[...document.querySelectorAll('button.quiet')].find(b => b.textContent === 'Fold all').click()")
    assert tab.run(f"{ROWS}.length") == 0
    tab.run("[...document.querySelectorAll('button.quiet')].find(b => b.textContent === 'Unfold all').click()")
    assert tab.run(f"{NAMES}[0]") == first


def test_details_are_read_and_drawn_when_asked_for(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    assert tab.run("document.querySelectorAll('.detail-body').length") == 0
    tab.run(f"{ROWS}[0].click()")
    tab.wait_for("document.querySelectorAll('.icicle .frame').length > 5")
    tab.picture(PICTURES / "run-detail.png")
    shown = tab.run("document.querySelector('.detail-body').innerText")
    for said in ("Median", "95 % interval", "Outside the allocator", "3, all exactly equal", "torch.empty((0,))"):
        assert said in shown, said
    assert tab.run("document.querySelector('.dots').getAttribute('d').split('M').length") > 150
    assert tab.run("document.querySelector('.histogram') !== null")
    widths = tab.run("[...document.querySelectorAll('.icicle rect')].map(r => Number(r.getAttribute('width')))")
    tab.run("document.querySelectorAll('.icicle .frame.opens')[2].dispatchEvent(new MouseEvent('click'))")
    closer = tab.run("[...document.querySelectorAll('.icicle rect')].map(r => Number(r.getAttribute('width')))")
    assert len(closer) < len(widths)
    assert max(closer) == max(widths), "the frame that was chosen fills the width"
    tab.run("document.querySelector('.icicle button').click()")
    assert len(tab.run("[...document.querySelectorAll('.icicle rect')].map(r => 1)")) == len(widths)
    tab.run(f"{ROWS}[0].click()")
    assert tab.run("document.querySelectorAll('.detail-body').length") == 0


def test_without_stacks_the_icicle_shows_libraries_and_functions(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("functions"))
    tab.run(f"{ROWS}[0].click()")
    tab.wait_for("document.querySelectorAll('.icicle .frame').length > 5")
    assert "libtorch_cpu.so" in tab.run("document.querySelector('.icicle').textContent")
    assert "Who called whom was not recorded" in tab.run("document.querySelector('.detail-body').innerText")


def test_warnings_come_with_their_remedies(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.run("document.querySelector('.caution').closest('tr').click()")
    tab.wait_for("document.querySelector('.warnings') !== null")
    assert "drifts. Measure longer" in tab.run("document.querySelector('.warnings').innerText")


def test_a_link_leads_to_its_benchmark_wherever_it_is(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    all_rows(tab)
    last = tab.run(f"{ROWS}.at(-1).id")
    tab.open(page_of("run"), f"#{last}")
    tab.wait_for("document.querySelector('.detail-body') !== null")
    assert tab.run("document.querySelector('tr.open').id") == last
    top = tab.run(f"document.getElementById('{last}').getBoundingClientRect().top")
    assert 0 <= top < 900
    assert tab.run("document.activeElement.closest('tr').id") == last
    type_into_search(tab, "allocation")
    tab.run(f"location.hash = ''; location.hash = '#{last}'")
    tab.wait_for(f"document.getElementById('{last}') !== null")
    assert tab.run("document.querySelector('.search').value") == ""


def test_keys_alone_are_enough(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.press("/", "Slash", "/")
    assert tab.run("document.activeElement.className") == "search"
    tab.run("document.querySelector('button.fold').focus()")
    tab.press("ArrowDown")
    assert tab.run("document.activeElement.className") == "name"
    tab.press("Enter", text="\r")
    tab.wait_for("document.querySelector('.detail-body') !== null")
    assert tab.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert tab.run("location.hash").startswith("#b-")
    tab.press("ArrowUp")
    assert tab.run("document.activeElement.className") == "fold"


def test_everything_a_reader_may_press_has_a_name(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.run(f"{ROWS}[0].click()")
    tab.wait_for("document.querySelectorAll('.icicle .frame').length > 5")
    unnamed = tab.run("""[...document.querySelectorAll('button, a[href], input, [tabindex="0"]')].filter(e =>
        !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.outerHTML)""")
    assert unnamed == []
    assert tab.run("document.querySelectorAll('h1').length") == 1
    assert tab.run("document.documentElement.lang") == "en"
    tree = tab.call("Accessibility.getFullAXTree")["nodes"]
    roles = {node["role"]["value"] for node in tree if "role" in node}
    assert {"main", "table", "columnheader", "rowheader", "button", "searchbox", "heading"} <= roles


def test_ten_thousand_benchmarks_open_and_only_what_is_near_is_made(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("many"))
    assert 0 < tab.run(f"{ROWS}.length") < 1000
    type_into_search(tab, "case 9876")
    assert tab.run(f"{ROWS}.length") == 1
    wanted = tab.run(f"{ROWS}[0].id")
    tab.open(page_of("many"), f"#{wanted}")
    tab.wait_for("document.querySelector('.dots') !== null")
    assert "case 9876" in tab.run("document.querySelector('tr.open').innerText")
