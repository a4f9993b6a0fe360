"""The site in a real browser, from disk and served: changes, benchmarks, curves, comparisons."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from photometer.history.site.local_server import LiveSite, LocalServer
from photometer.history.site.site_files import Published, publish_site
from photometer.history.store import Store, open_store
from photometer.history.writing import Origin
from tests.history.site.conftest import COMMITS, OPTIONS, PICTURES
from tests.history.site.made_history import (
    MACHINES,
    Made,
    commit_of,
    fill_store,
    header_of,
    sha_of,
    some_benchmarks,
    stepped,
    whole,
)
from tests.report.browser.tab import Tab, new_tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MIDDLE = COMMITS // 2
HOSTILE = "<img src=x onerror=\"document.title='bad'\">'\\\u2028</script>"


def open_benchmark(tab: Tab, page: Path, name: str) -> None:
    tab.open(page, "#/benchmarks")
    tab.find("a.name", has_text=name).click()
    expect(tab.find(".over-commits svg")).to_have_count(3)
    tab.settle()


def test_changes_are_listed_newest_first_with_their_cause(tab: Tab, published: Published) -> None:
    tab.open(published.page)
    tab.picture(PICTURES / "overview.png")
    expect(tab.find(".lead")).to_have_text("10 changes of 4 benchmarks in 40 commits on 2 machines")
    subjects = tab.find(".commit-head .subject").all_text_contents()
    assert subjects[-1] == f"Change number {MIDDLE} of the dispatcher"
    last = tab.find(".commit-group").last
    expect(last.locator("tr")).to_have_count(4)
    expect(last).to_contain_text("+25 % instructions")
    expect(last).to_contain_text("28,000 → 35,000")
    expect(last).to_contain_text("add_out")
    expect(last).to_contain_text("same instructions, so probably the machine")
    link = last.locator("a").first
    assert link.get_attribute("href") == f"https://forge.example/torch/commit/{sha_of(MIDDLE)}"


def test_the_skip_link_leads_to_the_results_and_not_to_another_view(tab: Tab, published: Published) -> None:
    tab.open(published.page, "#/benchmarks")
    tab.find(".skip").focus()
    tab.page.keyboard.press("Enter")
    expect(tab.find("#main")).to_be_focused()
    assert tab.page.url.endswith("#/benchmarks")
    expect(tab.find("tr.line").first).to_be_visible()


def test_changes_are_filtered_by_text_kind_machine_and_tag(tab: Tab, published: Published) -> None:
    tab.open(published.page)
    rows = tab.find("table.changes tr")
    expect(rows).to_have_count(6)
    tab.find(".search").fill("linear")
    expect(rows).to_have_count(2)
    tab.find(".search").fill("add_out scalar")
    expect(rows).to_have_count(2)
    tab.find(".search").fill("nothing of the kind")
    expect(tab.find(".groups")).to_have_text("Nothing matches.")
    tab.find(".search").fill("")
    expect(rows).to_have_count(6)
    tab.find(".tile.is-faster").click()
    expect(rows).to_have_count(2)
    tab.find(".tile.is-machine").click()
    expect(rows).to_have_count(2)
    tab.find(".tile.is-machine").click()
    tab.find(".tag", has_text="from the machine").click()
    expect(rows).to_have_count(2)
    tab.find(".choice select").select_option("1")
    expect(rows).to_have_count(1)
    tab.find(".tag", has_text="small").click()
    expect(rows).to_have_count(0)


def test_the_list_of_benchmarks_leads_to_their_pages(tab: Tab, published: Published) -> None:
    tab.open(published.page, "#/benchmarks")
    tab.picture(PICTURES / "benchmarks.png")
    expect(tab.find("tr.line")).to_have_count(4)
    expect(tab.find("tr.line .spark")).to_have_count(4)
    tab.find(".tag", has_text="torchscript").click()
    expect(tab.find("tr.line")).to_have_count(1)
    tab.find("a.name").click()
    expect(tab.find("h1")).to_have_text("backward")
    tab.page.go_back()
    expect(tab.find("h1")).to_have_text("Benchmarks")


def test_a_curve_tells_the_commit_on_hover_and_by_keys(tab: Tab, published: Published) -> None:
    open_benchmark(tab, published.page, "two tensors")
    chart = tab.find(".over-commits svg").first
    tip = tab.find(".tip")
    box = chart.bounding_box()
    assert box is not None
    tab.page.mouse.move(box["x"] + 70, box["y"] + 80)
    expect(tip).to_contain_text(sha_of(0)[:10])
    expect(tip).to_contain_text("Change number 0 of the dispatcher")
    expect(tip).to_contain_text("µs (")
    expect(tab.find(".cross")).to_have_count(3)
    tab.page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    chart.focus()
    tab.page.keyboard.press("End")
    tab.page.keyboard.press("ArrowLeft")
    expect(tip).to_contain_text(f"Change number {COMMITS - 2} of the dispatcher")
    tab.page.keyboard.press("Enter")
    card = tab.find(".commit-card")
    expect(card).to_contain_text(f"Change number {COMMITS - 2} of the dispatcher")
    expect(card).to_contain_text("Instructions: 35,000")
    assert card.locator("a").first.get_attribute("href") == f"https://forge.example/torch/commit/{sha_of(COMMITS - 2)}"
    card.get_by_text("Compare with the measured commit before").click()
    expect(tab.find("h1")).to_have_text("Compare two commits")


def test_dragging_enlarges_a_stretch_in_every_chart(tab: Tab, published: Published) -> None:
    open_benchmark(tab, published.page, "two tensors")
    words = tab.find(".zoom .hint")
    dots = tab.find(".over-commits").first.locator(".dot")
    expect(dots).to_have_count(COMMITS)
    box = tab.find(".over-commits svg").nth(1).bounding_box()
    assert box is not None
    tab.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 80)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 90, steps=4)
    expect(tab.find(".brush")).to_have_count(1)
    tab.page.mouse.up()
    expect(words).to_contain_text("commits")
    assert dots.count() < COMMITS // 2
    tab.picture(PICTURES / "zoomed.png")
    tab.page.get_by_role("button", name="Whole history").click()
    expect(dots).to_have_count(COMMITS)
    tab.page.get_by_role("button", name="Closer").click()
    assert dots.count() < COMMITS
    tab.find(".over-commits svg").first.dblclick()
    expect(dots).to_have_count(COMMITS)
    tab.find(".zoom input").check()
    expect(tab.find(".over-commits").first.locator(".tick", has_text=re.compile("^0$"))).to_have_count(1)


def test_machines_are_kept_apart(tab: Tab, published: Published) -> None:
    open_benchmark(tab, published.page, "two tensors")
    expect(tab.find(".step-mark")).to_have_count(2)
    tab.find(".choice select").select_option("1")
    expect(tab.find(".over-commits").first.locator(".dot")).to_have_count(COMMITS // 2)
    tab.page.reload()
    expect(tab.find(".choice select")).to_have_value("1")


def test_any_two_commits_are_compared(tab: Tab, published: Published) -> None:
    tab.open(published.page, f"#/compare/{sha_of(0)[:10]}/{sha_of(COMMITS - 1)}")
    tab.picture(PICTURES / "compare.png")
    rows = tab.find("tr.line")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("two tensors")
    expect(rows.first).to_contain_text("28,000 → 35,000")
    expect(rows.nth(1)).to_contain_text("-15 %")
    expect(rows.last).to_contain_text("same")
    tab.page.get_by_role("button", name="Swap").click()
    expect(rows.first).to_contain_text("35,000 → 28,000")
    tab.find(".commit-input").first.fill(f"Change number {MIDDLE} of")
    tab.find(".commit-input").first.press("Enter")
    expect(tab.find(".commit-input").first).to_have_value(re.compile(f"^{sha_of(MIDDLE)[:10]} "))
    tab.find(".choice select").select_option("1")
    expect(tab.find("h1")).to_have_text("Compare two commits")
    tab.open(published.page, "#/compare/ffffffff/eeeeeeee")
    expect(tab.find(".problem")).to_have_text("No measured commit has this name.")


def test_a_live_comparison_confirms_a_step_and_is_shown(tab: Tab, tmp_path: Path) -> None:
    made = some_benchmarks(20)[2:3]
    with open_store(tmp_path / "confirmed.sqlite", create=True) as store:
        fill_store(store, made, 20)
        told = {
            "kind": "comparison",
            "order_id": store.benchmarks()[0].key,
            "title": "Linear › forward",
            "verdict": {"verdict": "slower", "ratio": 1.12, "interval": [1.11, 1.13]},
            "cause": "memory",
            "instructions": {
                "base_per_run": 57_000.0,
                "branch_per_run": 58_000.0,
                "base_allocator_calls_per_run": 2.0,
                "branch_allocator_calls_per_run": 2.0,
            },
            "memory": {
                "verdict": "more",
                "base": {"peak_bytes": 4096, "allocated_bytes": 8192, "allocations": 2},
                "branch": {"peak_bytes": 6144, "allocated_bytes": 8192, "allocations": 2},
            },
        }
        about = {"id": "c", "base": {"commit": sha_of(9)}, "branch": {"commit": sha_of(10)}, "suite": "made-up"}
        header = {**header_of(MACHINES[0], "c"), "comparison": about}
        del header["run"]
        project = "forge.example/torch"
        store.add_run(header, [told], Origin(project, commit_of(10), base_commit=commit_of(9)))
        done = publish_site(store, tmp_path / "site", OPTIONS, 0)
    tab.open(done.page)
    expect(tab.find("table.changes")).to_contain_text("confirmed by a live comparison (slower, +12 %)")
    tab.find("table.changes a").first.click()
    verdicts = tab.find("table.small tbody tr")
    expect(verdicts).to_have_count(1)
    expect(verdicts).to_contain_text("slower+12 %+11 % to +13 %memory")
    expect(verdicts).to_contain_text("57,000 → 58,000")
    expect(verdicts).to_contain_text("4.00 KiB → 6.00 KiB")
    # Both sides of the two figures that are drawn at once; the other metrics are folded.
    expect(tab.find(".over-commits svg .compared")).to_have_count(4)
    tab.picture(PICTURES / "compared-on-curves.png")


def test_addresses_that_lead_nowhere_say_so(tab: Tab, published: Published) -> None:
    for fragment in ("#/nothing", "#/benchmark/none", "#/benchmark/%E0%A4%A"):
        tab.open(published.page, fragment)
        expect(tab.find("h1")).to_have_text("Not found")


def test_the_served_site_is_the_same_and_tells_of_news(browser: Browser, tmp_path: Path) -> None:
    made = some_benchmarks(COMMITS)[:2]
    with open_store(tmp_path / "live.sqlite", create=True) as store:
        fill_store(store, made, COMMITS - 5)
        moments = iter((1, 2))
        site = LiveSite(store, OPTIONS, clock=lambda: next(moments))
        with LocalServer(site, 0) as server, new_tab(browser) as tab:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            tab.page.clock.install()
            tab.page.goto(server.url)
            expect(tab.find(".lead")).to_contain_text("of 2 benchmarks in 35 commits on 1 machine")
            fill_store(store, made, COMMITS, start=COMMITS - 5)
            site.file("/data/state.js")
            site.wait()
            tab.page.clock.fast_forward(21_000)
            tab.find(".fresh button").click()
            expect(tab.find(".lead")).to_contain_text("in 40 commits")
            tab.find("nav a", has_text="Compare").click()
            expect(tab.find("tr.line")).to_have_count(2)
            assert tab.problems == []
            server.shutdown()
            thread.join()


def test_nothing_in_names_is_executed(tab: Tab, tmp_path: Path) -> None:
    made = [
        Made(
            (HOSTILE, HOSTILE), stepped(1e-6, (10, 1.5)), whole(stepped(9_000, (10, 2.0))), (HOSTILE,), "eager", HOSTILE
        )
    ]
    with open_store(tmp_path / "hostile.sqlite", create=True) as store:
        fill_store(store, made, 20, machines=(HOSTILE,), subjects=dict.fromkeys(range(20), HOSTILE), project=HOSTILE)
        done = publish_site(store, tmp_path / "site", OPTIONS, 0)
    tab.open(done.page)
    expect(tab.find(".commit-head .subject").first).to_contain_text("<img src=x")
    tab.find("table.changes a").first.click()
    expect(tab.find("pre").last).to_contain_text("<img src=x")
    tab.find("nav a", has_text="Compare").click()
    expect(tab.find("tr.line")).to_have_count(1)
    assert tab.find("img").count() == 0
    assert tab.page.title() != "bad"


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_every_view_fits_its_window(browser: Browser, store: Store, published: Published, look: str) -> None:
    size = (390, 844) if look == "phone" else (1180, 900)
    with new_tab(browser, *size, dark=look == "dark", phone=look == "phone") as tab:
        key = store.benchmarks("scalar")[0].key
        for name, fragment in (
            ("overview", ""),
            ("list", "#/benchmarks"),
            ("curve", f"#/benchmark/{key}"),
            ("compare", "#/compare"),
        ):
            tab.open(published.page, fragment)
            tab.picture(PICTURES / f"{name}-{look}.png")
            assert tab.run("document.documentElement.scrollWidth") <= size[0], name
        assert tab.problems == []
