"""`LiveSite`: the files of the site, each made from the store when it is asked for.

The index, which needs every curve, is made at the start and again in the background when the store has changed; until
then the old one is served. Safe to use from several threads.
"""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import func, select

from photometer.errors import PhotometerError
from photometer.history import schema
from photometer.history.changes import FOLLOWING
from photometer.history.nouns import Curve
from photometer.history.repository import Repository
from photometer.history.site.benchmark_data import benchmark_data
from photometer.history.site.changes import site_changes
from photometer.history.site.commit_data import read_commit
from photometer.history.site.document import data_script, document, script, style
from photometer.history.site.index_data import Latest, SiteOptions, commits_data, index_data
from photometer.history.site.names import SiteNames
from photometer.history.store import Store

_BENCHMARK = re.compile(r"/data/benchmark-(\d{1,12})\.js")
_COMMIT = re.compile(r"/data/commit-(\d{1,6})-(\d{1,9})\.js")
HTML, SCRIPT, STYLE = "text/html; charset=utf-8", "text/javascript; charset=utf-8", "text/css; charset=utf-8"


@dataclasses.dataclass(frozen=True)
class SiteFile:
    media_type: str
    text: str


@dataclasses.dataclass(frozen=True)
class _Snapshot:
    """What was read at one moment; the numbers in all data files are those of its names."""

    state: tuple[int, ...]
    names: SiteNames
    made_at: int
    index: SiteFile


class LiveSite:
    def __init__(
        self, store: Store, options: SiteOptions, *, clock: Callable[[], int], repository: Repository | None = None
    ) -> None:
        self._store = store
        self._options = dataclasses.replace(options, is_live=True)
        self._clock = clock
        self._repository = repository
        self._refreshing = threading.Lock()
        self._refresher: threading.Thread | None = None
        self._fixed = {
            "/": SiteFile(HTML, document(options.title)),
            "/site.js": SiteFile(SCRIPT, script()),
            "/site.css": SiteFile(STYLE, style()),
        }
        self._fixed["/index.html"] = self._fixed["/"]
        self._snapshot = self._read()

    def file(self, path: str) -> SiteFile | None:
        """Return the file at a path such as `/data/index.js`; None if there is none."""
        snapshot = self._snapshot
        if path == "/data/state.js":
            self._refresh_if_changed()
            return _data("state", {"made_at": self._snapshot.made_at})
        if path == "/data/commits.js":
            return _data("commits", commits_data(snapshot.names))
        if found := _BENCHMARK.fullmatch(path):
            return self._benchmark(snapshot.names, int(found.group(1)))
        if found := _COMMIT.fullmatch(path):
            return self._commit(snapshot.names, int(found.group(1)), int(found.group(2)))
        return snapshot.index if path == "/data/index.js" else self._fixed.get(path)

    def wait(self) -> None:
        """Wait until a refresh that is under way is done."""
        refresher = self._refresher
        if refresher is not None:
            refresher.join()

    def _benchmark(self, names: SiteNames, number: int) -> SiteFile | None:
        benchmark = next((each for each in names.benchmarks if each.id == number), None)
        if benchmark is None:
            return None
        curves = self._store.curves(number)
        verdicts = self._store.comparisons(benchmark_id=number, with_figures=True)
        return _data(f"benchmark-{number}", benchmark_data(names, benchmark, curves, verdicts))

    def _commit(self, names: SiteNames, project: int, place: int) -> SiteFile | None:
        if project >= len(names.projects) or place >= len(names.commits[names.projects[project]]):
            return None
        with self._store.engine.connect() as connection:
            data = read_commit(connection, names, names.projects[project], place)
        return _data(f"commit-{project}-{place}", data)

    def _state(self) -> tuple[int, ...]:
        """Return numbers that differ when something was added or pruned."""
        results, runs = schema.results, schema.runs
        with self._store.engine.connect() as connection:
            row = connection.execute(
                select(
                    select(func.count()).select_from(results).scalar_subquery(),
                    select(func.count()).select_from(runs).scalar_subquery(),
                    select(func.max(runs.c.id)).scalar_subquery(),
                )
            ).one()
        return tuple(int(number or 0) for number in row)

    def _read(self) -> _Snapshot:
        state = self._state()
        names = SiteNames.read(self._store)
        latest = Latest(names)

        def seen() -> Iterator[Curve]:
            # What follows from other metrics is in no change and no list; a benchmark's own page reads it.
            for curve in self._store.all_curves([each.name for each in names.metrics if each.name not in FOLLOWING]):
                latest.add(curve)
                yield curve

        changes = site_changes(self._store, names, seen(), self._repository)
        made_at = self._clock()
        index = _data("index", index_data(names, latest, changes, self._options, made_at))
        return _Snapshot(state, names, made_at, index)

    def _refresh_if_changed(self) -> None:
        if not self._refreshing.acquire(blocking=False):
            return
        try:
            changed = self._state() != self._snapshot.state
        except PhotometerError:
            changed = False
        if not changed:
            self._refreshing.release()
            return
        self._refresher = threading.Thread(target=self._refresh, daemon=True)
        self._refresher.start()

    def _refresh(self) -> None:
        try:
            self._snapshot = self._read()
        except PhotometerError:
            # The store is gone or locked for now: what was read stays, and the next question tries again.
            pass
        finally:
            self._refreshing.release()


def _data(name: str, value: Any) -> SiteFile:
    return SiteFile(SCRIPT, data_script(name, value))
