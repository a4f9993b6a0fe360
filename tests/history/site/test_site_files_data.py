"""What the data files of the site say: everything that the store has, in few characters, and nothing that acts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from photometer.errors import StoreError
from photometer.history.nouns import Commit
from photometer.history.site.benchmark_data import EXACT_DIGITS, TIME_DIGITS, packed
from photometer.history.site.commit_data import read_commit
from photometer.history.site.index_data import SiteOptions, checked_commit_url, spark
from photometer.history.site.names import SiteNames
from photometer.history.site.site_files import Published, data_script, publish_site
from photometer.history.store import Store, open_store
from photometer.history.writing import Origin
from tests.history.site.conftest import COMMITS, OPTIONS
from tests.history.site.made_history import MACHINES, fill_store, header_of, records_at, sha_of, some_benchmarks
from tests.history.site.read_site import from_script, site_data, unpacked


@given(strategies.lists(strategies.floats(1e-9, 1e9), min_size=1, max_size=50))
def test_packed_numbers_have_the_digits_that_were_asked_for(values: list[float]) -> None:
    for digits in (TIME_DIGITS, EXACT_DIGITS):
        for value, back in zip(values, unpacked(packed(values, digits)), strict=True):
            assert abs(value - back) <= max(values) * 10.0 ** (1 - digits)


def test_counts_are_packed_exactly() -> None:
    counts = [28_972.64, 28_972.64, 41_780.89]
    assert unpacked(packed(counts, EXACT_DIGITS)) == counts
    assert packed([7.0] * 5, EXACT_DIGITS) == {"exponent": 0, "steps": [7, 0, 0, 0, 0]}
    assert packed([0.0, 0.0], TIME_DIGITS) == {"exponent": 0, "steps": [0, 0]}


@pytest.mark.parametrize("value", ["'", "\\", "\\'", "</script>", "\u2028", {"__proto__": 1}, "é\n", [1.5, None]])
def test_a_data_file_hands_over_whatever_there_is(value: Any) -> None:
    text = data_script("index", value)
    assert from_script(text) == value
    assert text.isascii()
    assert text.count("\n") == 1


def test_the_index_has_series_benchmarks_and_changes(published: Published) -> None:
    index = site_data(published.page, "index")
    assert [each["machine"].split(",")[0] for each in index["series"]] == list(MACHINES)
    assert [each["commits"] for each in index["series"]] == [COMMITS, COMMITS // 2]
    assert len(index["benchmarks"]) == published.benchmarks == 4
    scalar = next(row for row in index["benchmarks"] if row["name"] == "with a scalar")
    assert (scalar["group"], scalar["tags"]) == ("Add", ["small"])
    assert set(scalar["latest"][0]["values"]) == {"0", "1", "2"}, "time, instructions and memory"


def test_changes_have_their_commit_their_size_and_their_cause(published: Published) -> None:
    index = site_data(published.page, "index")
    metrics = [metric["name"] for metric in index["metrics"]]
    titles = [f"{row['group']} › {row['name']}" for row in index["benchmarks"]]
    first = [change for change in index["changes"] if change["series"] == 0]
    told = {(titles[each["benchmark"]], metrics[each["metric"]]): each for each in first}
    counted = told["Add › two tensors", "instructions"]
    assert index["change_commits"][counted["first"]][0] == sha_of(COMMITS // 2)
    assert (counted["before"], counted["after"], counted["p"]) == (28_000, 35_000, None)
    assert counted["between"] == 0
    assert "add_out" in counted["functions"][0][0]
    assert counted["functions"][0][1] == pytest.approx(3500)
    timed = told["Linear › forward", "undisturbed_time"]
    assert (timed["origin"], timed["functions"]) == ("machine", [])
    assert timed["relative"] == pytest.approx(0.1, abs=0.02)
    assert timed["p"] < 1e-3
    assert told["Add › two tensors", "undisturbed_time"]["origin"] == "code"
    assert not any(title == "Linear › backward" for title, _ in told)
    moments = [index["change_commits"][change["first"]][1] for change in index["changes"]]
    assert moments == sorted(moments, reverse=True), "the newest first"


def test_a_benchmarks_file_has_its_curves_and_its_code(published: Published, store: Store) -> None:
    benchmark = store.benchmarks("scalar")[0]
    data = site_data(published.page, f"benchmark-{benchmark.id}")
    assert data["code"] == {"stmt": "x + 1", "setup": "x = torch.ones(4)"}
    index = site_data(published.page, "index")
    for curve in data["curves"]:
        metric = index["metrics"][curve["metric"]]
        machine = index["series"][curve["series"]]["machine"]
        (kept,) = [each for each in store.curves(benchmark.id, metric["name"]) if each.machine.name == machine]
        values = [point.value for point in kept.points]
        assert unpacked(curve["values"]) == pytest.approx(values, rel=1e-5)
        if metric["exact"]:
            assert unpacked(curve["values"]) == values
            assert "below" not in curve
        else:
            lows = [point.value - point.low for point in kept.points]
            assert unpacked(curve["below"]) == pytest.approx(lows, abs=max(lows) * 1e-3)


def test_a_commits_file_is_the_same_published_and_live(published: Published, store: Store) -> None:
    names = SiteNames.read(store)
    for place in (0, 1, COMMITS - 1):
        with store.engine.connect() as connection:
            live = read_commit(connection, names, names.projects[0], place)
        assert site_data(published.page, f"commit-0-{place}") == live
        assert {column["series"] for column in live["columns"]} == ({0} if place % 2 else {0, 1})


def test_a_commit_measured_twice_has_the_median_and_both_intervals(tmp_path: Path) -> None:
    with open_store(tmp_path / "twice.sqlite", create=True) as store:
        made = some_benchmarks()[:1]
        fill_store(store, made, 3)
        again = Origin(project="forge.example/torch", commit=Commit(sha_of(2)))
        store.add_run(header_of(MACHINES[0], "again"), records_at(2, made, random.Random(9), speed=1.5), again)
        done = publish_site(store, tmp_path / "site", OPTIONS, 0)
        values = [point.value for point in store.curves(1, "undisturbed_time")[0].points]
    time = site_data(done.page, "commit-0-2")["columns"][0]
    assert time["values"][0] == pytest.approx(sum(values[2:]) / 2, rel=1e-5)
    assert time["low"][0] < time["values"][0] < time["high"][0]


def test_publishing_again_removes_what_is_gone_and_nothing_else(tmp_path: Path) -> None:
    with open_store(tmp_path / "small.sqlite", create=True) as store:
        fill_store(store, some_benchmarks()[:1], 3)
        site = tmp_path / "site"
        publish_site(store, site, OPTIONS, 0)
        (site / "data" / "benchmark-99.js").write_text("old")
        (site / "data" / "notes.txt").write_text("mine")
        (site / "CNAME").write_text("mine")
        before = {path.name: path.read_bytes() for path in site.rglob("*") if path.is_file()}
        publish_site(store, site, OPTIONS, 0)
        after = {path.name: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert before.pop("benchmark-99.js") == b"old"
    assert after == before


def test_publishing_again_writes_only_what_has_changed(tmp_path: Path) -> None:
    with open_store(tmp_path / "growing.sqlite", create=True) as store:
        made = some_benchmarks()[:2]
        fill_store(store, made, 3)
        site = tmp_path / "site"
        first = publish_site(store, site, OPTIONS, 0)
        again = publish_site(store, site, OPTIONS, 0)
        old = (site / "data" / "commit-0-0.js").stat()
        origin = Origin(project="forge.example/torch", commit=Commit(sha_of(3), committed_at=2_000_000_000))
        store.add_run(header_of(MACHINES[0], "later"), records_at(3, made[:1], random.Random(9), speed=1.0), origin)
        grown = publish_site(store, site, OPTIONS, 0)
        assert (site / "data" / "commit-0-0.js").stat().st_mtime_ns == old.st_mtime_ns
    assert (first.written, again.written) == (first.files, 0)
    # The new commit, the benchmark that it measured, the index and the list of commits.
    assert 0 < grown.written <= 4 < grown.files


def test_a_page_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with (
        open_store(tmp_path / "empty.sqlite", create=True) as store,
        pytest.raises(StoreError, match="not of an earlier publication"),
    ):
        publish_site(store, tmp_path, SiteOptions(), 0)
    assert (tmp_path / "index.html").read_text() == "mine"
    assert not (tmp_path / "data").exists()


def test_an_empty_store_has_a_site_too(tmp_path: Path) -> None:
    with open_store(tmp_path / "empty.sqlite", create=True) as store:
        done = publish_site(store, tmp_path / "site", SiteOptions(), 0)
    assert (done.benchmarks, done.commits, done.changes) == (0, 0, 0)
    assert site_data(done.page, "index")["changes"] == []


def test_small_curves_show_steps_and_flatten_noise() -> None:
    stepped = spark([1.0] * 100 + [2.0] * 100)
    assert (min(stepped), max(stepped), len(stepped)) == (0, 99, 40)
    calm = spark([1.0, 1.001] * 50)
    assert max(calm) - min(calm) < 20
    assert spark([3.0]) == [50]


@pytest.mark.parametrize(
    "pattern", ["javascript:alert({sha})", "https://forge.example/", "/commit/{sha}", "https:{sha}"]
)
def test_only_addresses_of_the_web_are_links(pattern: str) -> None:
    with pytest.raises(StoreError, match="must begin with https"):
        checked_commit_url(pattern)


def test_a_pattern_is_kept_and_none_is_none() -> None:
    assert checked_commit_url("https://forge.example/c/{sha}") == "https://forge.example/c/{sha}"
    assert checked_commit_url(None) is None
