"""The page of a run in a real browser: sorting, filtering, folding, details, links, keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.report.browser.conftest import PICTURES, Pages
from tests.report.browser.tab import Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROW = "tr.line"
FRAME_WIDTHS = """[...document.querySelector('.detail-body').querySelectorAll('.icicle rect')].map(r =>
    Number(r.getAttribute('width')))"""


def names(tab: Tab) -> list[str]:
    return tab.find(f"{ROW} .title").all_text_contents()


def exactly(text: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(text)}$")


def all_rows(tab: Tab) -> int:
    """Scroll until no more rows come."""
    tab.run("""(async () => { let before = -1; while (before !== document.querySelectorAll('tr.line').length) {
        before = document.querySelectorAll('tr.line').length; window.scrollTo(0, 1e9);
        await new Promise(done => setTimeout(done, 60)); } window.scrollTo(0, 0); })()""")
    return tab.find(ROW).count()


def open_first_row(tab: Tab) -> None:
    tab.find(ROW).first.click()
    expect(tab.find(".icicle .frame").nth(5)).to_be_attached()


def test_every_benchmark_is_there_with_time_and_instructions(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.picture(PICTURES / "run.png")
    assert all_rows(tab) == 84
    first = tab.find(ROW).first.inner_text()
    assert "no elements" in first
    assert "µs" in first
    expect(tab.find("td.chart svg .mark")).to_have_count(166)
    expect(tab.find(f"{ROW} .caution")).to_have_count(2)


def test_python_and_cpp_stand_side_by_side(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    heads = [text for text in tab.find("th[scope=col]").all_inner_texts() if text.strip()]
    assert heads[:5] == ["Benchmark", "Python", "±", "C++", "±"]
    assert heads[-2:] == ["Python instr.", "C++ instr."]
    tab.find(ROW).first.click()
    expect(tab.find(".sides .side h3")).to_have_text(["Python", "C++"])
    expect(tab.find(".detail-body pre").filter(has_text="torch::empty").first).to_be_visible()


def test_every_mark_has_its_legend(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    legend = tab.find("#run-table .marks").inner_text()
    for said in ("Python", "C++", "half the 95 % interval", "doubtful, more than the rest"):
        assert said in legend, said
    assert "on the device" not in legend, "there is no such mark in this table"


def test_times_of_host_and_device_stand_side_by_side(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("device"))
    heads = [text for text in tab.find("th[scope=col]").all_inner_texts() if text.strip()]
    assert heads[:4] == ["Benchmark", "Undisturbed time", "±", "On device"]
    assert "341" in tab.find(ROW).filter(has_text="n=2048").inner_text()
    assert "time on the device" in tab.find("#run-table .marks").inner_text()
    assert "NVIDIA H200" in tab.find("body").inner_text()


def test_rows_that_are_shown_can_be_copied(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.find(".search").fill("matmul")
    shown = tab.find(ROW).count()
    assert shown
    for name, start in (("Copy as Markdown", "| Benchmark | Python |"), ("Copy as CSV", "Benchmark,Python seconds,")):
        tab.page.get_by_role("button", name=name).click()
        expect(tab.page.get_by_role("button", name="Copied")).to_be_visible()
        text = tab.run("navigator.clipboard.readText()")
        assert text.startswith(start)
        lines = text.strip().splitlines()
        assert len(lines) == shown + (2 if name.endswith("Markdown") else 1)
        assert all("matmul" in line.lower() for line in lines[2:])
        expect(tab.page.get_by_role("button", name="Copied")).to_have_count(0)


def test_sorting_by_a_column_and_back(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    before = names(tab)
    grouped, column = tab.find(".check input"), tab.find(".sort", has_text=exactly("Python instr."))
    numbers = """[...document.querySelectorAll('tr.line')].map(r =>
        r.querySelectorAll('td.right')[4].innerText.replace(/,/g, '')).filter(Boolean).map(Number)"""
    grouped.click()
    column.click()
    falling = tab.run(numbers)
    assert falling == sorted(falling, reverse=True)
    assert tab.find("th[aria-sort=descending]").inner_text().startswith("Python instr.")
    column.click()
    rising = tab.run(numbers)
    assert rising == sorted(rising)
    column.click()
    grouped.click()
    assert names(tab) == before


def test_the_whole_head_of_a_column_sorts(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    head = tab.find("th.sorts").nth(1)
    box = head.bounding_box()
    assert box is not None
    tab.page.mouse.click(box["x"] + 3, box["y"] + 3)
    assert head.get_attribute("aria-sort") == "descending"


def test_the_number_of_doubtful_rows_is_a_filter(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.find("#show-doubtful").click()
    tab.settle()
    marked = tab.find(ROW)
    assert marked.count() == 2
    assert marked.locator(".caution").count() == 2
    tab.find(".tag", has_text="doubtful").click()
    tab.settle()
    assert marked.count() > 2


def test_filtering_by_text_and_tag(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    search, rows = tab.find(".search"), tab.find(ROW)
    search.fill("matmul CPP")
    found = rows.all_inner_texts()
    assert found
    expect(tab.find(".status")).to_contain_text(" of 84 benchmarks")
    search.fill("atmul")
    assert rows.count() == 0, "words are matched from their beginning"
    search.fill("torch::zeros_like")
    assert rows.count() == 1, "the code is searched too"
    search.fill("no such thing")
    expect(tab.find(".none")).to_have_text("Nothing matches.")
    search.fill("")
    for word in ("torchscript", "python"):
        tab.find(".tag", has_text=exactly(word)).click()
    shown = tab.find(f"{ROW} .words").all_text_contents()
    assert shown
    assert all("torchscript" in words for words in shown)
    expect(tab.find(".tag[aria-pressed=true]")).to_have_count(2)


def test_folding_one_group_and_all(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    group = tab.find("button.fold").first
    expect(group).to_have_attribute("aria-expanded", "true")
    first = names(tab)[0]
    group.click()
    expect(group).to_have_attribute("aria-expanded", "false")
    assert names(tab)[0] != first
    tab.page.get_by_role("button", name="Fold all", exact=True).click()
    expect(tab.find(ROW)).to_have_count(0)
    tab.page.get_by_role("button", name="Unfold all", exact=True).click()
    assert names(tab)[0] == first


def test_details_are_read_and_drawn_when_asked_for(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    body = tab.find(".detail-body")
    expect(body).to_have_count(0)
    open_first_row(tab)
    tab.picture(PICTURES / "run-detail.png")
    shown = body.first.inner_text()
    for said in (
        "Median",
        "95 % interval",
        "50, 90, 95, 99 %",
        "of blocks of",
        "Outside the allocator",
        "3, all exactly equal",
        "torch.empty((0,))",
    ):
        assert said in shown, said
    assert len((tab.find(".dots").first.get_attribute("d") or "").split("M")) > 150
    expect(tab.find(".histogram").first).to_be_attached()
    widths = tab.run(FRAME_WIDTHS)
    tab.find(".icicle .frame.opens").nth(2).click()
    closer = tab.run(FRAME_WIDTHS)
    assert len(closer) < len(widths)
    assert max(closer) == max(widths), "the frame that was chosen fills the width"
    tab.find(".icicle button").first.click()
    assert len(tab.run(FRAME_WIDTHS)) == len(widths)
    tab.find(ROW).first.click()
    expect(body).to_have_count(0)


def test_without_stacks_the_icicle_shows_libraries_and_functions(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("functions"))
    open_first_row(tab)
    expect(tab.find(".icicle").first).to_contain_text("libtorch_cpu.so")
    expect(tab.find(".detail-body").first).to_contain_text("Callers were not recorded", use_inner_text=True)


def test_warnings_come_with_their_remedies(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    tab.find(ROW, has=tab.find(".caution")).first.click()
    expect(tab.find(".warnings")).to_contain_text("drifts. Measure longer", use_inner_text=True)


def test_a_link_leads_to_its_benchmark_wherever_it_is(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    all_rows(tab)
    last = tab.find(ROW).last.get_attribute("id")
    tab.open(page_of("run"), f"#{last}")
    expect(tab.find(".detail-body").first).to_be_visible()
    expect(tab.find("tr.open")).to_have_id(last or "")
    top = tab.run(f"document.getElementById('{last}').getBoundingClientRect().top")
    assert 0 <= top < 900
    assert tab.run("document.activeElement.closest('tr').id") == last
    tab.find(".search").fill("allocation")
    tab.run(f"location.hash = ''; location.hash = '#{last}'")
    expect(tab.find(f"[id='{last}']")).to_be_attached()
    expect(tab.find(".search")).to_have_value("")


def test_keys_alone_are_enough(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    keyboard, focused = tab.page.keyboard, tab.find(":focus")
    keyboard.press("/")
    expect(focused).to_have_class("search")
    tab.find("button.fold").first.focus()
    keyboard.press("ArrowDown")
    expect(focused).to_have_class("name")
    keyboard.press("Enter")
    expect(tab.find(".detail-body").first).to_be_visible()
    expect(focused).to_have_attribute("aria-expanded", "true")
    assert tab.run("location.hash").startswith("#b-")
    keyboard.press("ArrowUp")
    expect(focused).to_have_class("fold")


def test_everything_a_reader_may_press_has_a_name(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("run"))
    open_first_row(tab)
    unnamed = tab.run("""[...document.querySelectorAll('button, a[href], input, [tabindex="0"]')].filter(e =>
        !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.outerHTML)""")
    assert unnamed == []
    expect(tab.find("h1")).to_have_count(1)
    expect(tab.find("html")).to_have_attribute("lang", "en")
    for role in ("main", "table", "columnheader", "rowheader", "button", "searchbox", "heading"):
        expect(tab.page.get_by_role(role).first).to_be_attached()


def test_ten_thousand_benchmarks_open_and_only_what_is_near_is_made(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("many"))
    rows = tab.find(ROW)
    assert 0 < rows.count() < 1000
    tab.find(".search").fill("case 9876")
    expect(rows).to_have_count(1)
    wanted = rows.first.get_attribute("id")
    tab.open(page_of("many"), f"#{wanted}")
    expect(tab.find(".dots")).to_be_visible()
    expect(tab.find("tr.open")).to_contain_text("case 9876", use_inner_text=True)
