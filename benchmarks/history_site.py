"""How fast is the site of a large history? 500 benchmarks at 2,000 commits: publishing, its size, views in a browser.

Views are timed by the page itself, from its address to what it shows, in the machine's own Chromium, from disk and
served. Run: python benchmarks/history_site.py [--quick] [--folder DIR]. --quick: 50 benchmarks, 200 commits.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.history.site.made_history import Made, commit_of, fill_store, stepped, whole
from tests.report.browser.tab import Tab, chromium, new_tab

from photometer.history.site.index_data import SiteOptions
from photometer.history.site.local_server import LiveSite, LocalServer
from photometer.history.site.site_files import publish_site
from photometer.history.store import Store, open_store

VISITS = 5
METRICS = ("undisturbed_time", "time", "instructions", "all_instructions", "allocator_calls")


def fill_quickly(store: Store, benchmarks: int, commits: int) -> None:
    """Make the names with one real run, and the points of all commits with SQL of their own."""
    made = [
        Made((f"Group {i // 10}", f"benchmark {i}"), stepped(1e-6), whole(stepped(20_000))) for i in range(benchmarks)
    ]
    fill_store(store, made, 1)
    generator = np.random.default_rng(0)
    with store.engine.connect().execution_options(writes=True) as connection, connection.begin():
        run = connection.exec_driver_sql("SELECT * FROM runs").mappings().one()
        ids = {row.name: row.id for row in connection.exec_driver_sql("SELECT id, name FROM metrics")}
        columns = [name for name in run if name != "id"]
        for number in range(1, commits):
            commit = commit_of(number)
            who = (commit.generation, " ".join(commit.parents), commit.author, commit.subject)
            connection.exec_driver_sql(
                "INSERT INTO commits (sha, committed_at, authored_at, generation, parents, author, subject) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (commit.sha, commit.committed_at, commit.authored_at, *who),
            )
            values = {**run, "key": f"run {number}", "commit_id": number + 1}
            names, marks = ", ".join(columns), ", ".join("?" for _ in columns)
            connection.exec_driver_sql(
                f"INSERT INTO runs ({names}) VALUES ({marks})", tuple(values[name] for name in columns)
            )
        connection.exec_driver_sql("DELETE FROM points")
        for benchmark in range(1, benchmarks + 1):
            place = int(generator.integers(50, max(commits - 50, 51)))
            factors = np.where(np.arange(commits) >= place, 1.1, 1.0)
            times = 1e-6 * factors * np.exp(generator.normal(0.0, 0.01, commits))
            counts = np.round(20_000 * factors)
            rows = []
            for metric in METRICS:
                curve = times if "time" in metric else counts
                half = curve * (0.004 if "time" in metric else 0.0)
                low, high = (curve - half).tolist(), (curve + half).tolist()
                for at, value in enumerate(curve.tolist()):
                    rows.append((benchmark, ids[metric], at + 1, 0, value, low[at], high[at]))
            connection.exec_driver_sql("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def view_seconds(tab: Tab, address: str) -> float:
    """Return the median of what the page says its view took."""
    found = []
    for _ in range(VISITS):
        tab.page.goto("about:blank")
        tab.page.goto(address)
        tab.page.locator(":root[data-ready]").wait_for(state="attached")
        found.append(int(tab.run("document.documentElement.dataset.ready")) / 1000)
    return statistics.median(found)


def show_views(tab: Tab, base: str, name: str) -> None:
    print(f"{name}: first view                {view_seconds(tab, base):.2f} s")
    print(f"{name}: list of benchmarks        {view_seconds(tab, base + '#/benchmarks'):.2f} s")
    page = tab.find("a.name").first.get_attribute("href")
    print(f"{name}: a benchmark's page        {view_seconds(tab, base + str(page)):.2f} s")
    print(f"{name}: comparison of two commits {view_seconds(tab, base + '#/compare'):.2f} s")


def measure(folder: Path, benchmarks: int, commits: int) -> None:
    with open_store(folder / "history.sqlite", create=True) as store:
        start = time.perf_counter()
        fill_quickly(store, benchmarks, commits)
        print(f"{benchmarks} benchmarks, {commits:,} commits, {len(METRICS)} metrics")
        print(f"made in                          {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        done = publish_site(store, folder / "site", SiteOptions(), 0)
        print(f"publish                          {time.perf_counter() - start:.1f} s, {done.changes} changes")
        print(f"size                             {done.total_bytes / 1e6:.1f} MB in {done.files:,} files")
        for name in ("index", "commits", "benchmark-1", "commit-0-1"):
            print(f"  {name + '.js':<31}{(folder / 'site' / 'data' / f'{name}.js').stat().st_size / 1e3:.0f} kB")
        with chromium() as browser, new_tab(browser) as tab:
            show_views(tab, done.page.as_uri(), "from disk")
            start = time.perf_counter()
            site = LiveSite(store, SiteOptions(), clock=lambda: 0)
            print(f"serve: ready after               {time.perf_counter() - start:.1f} s")
            with LocalServer(site, 0) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                show_views(tab, server.url, "served")
                server.shutdown()
            assert not tab.problems, tab.problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 benchmarks at 200 commits.")
    parser.add_argument("--folder", type=Path, help="Keep store and site there (default: a temporary folder).")
    options = parser.parse_args()
    size = (50, 200) if options.quick else (500, 2000)
    if options.folder is not None:
        options.folder.mkdir(parents=True)
        measure(options.folder, *size)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), *size)


if __name__ == "__main__":
    main()
