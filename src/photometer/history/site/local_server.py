"""A web server for one `LiveSite`, on this machine's own address only.

A `LiveSite` makes each file of the site from the store when it is requested. Other users of the network cannot reach
the server. Pages of other sites in the same browser can send requests to localhost, so a request must name this server
as its host and must not come from another site; nothing is ever written.
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import re
import socket
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import func, select

from photometer.errors import PhotometerError
from photometer.history import schema
from photometer.history.changes import FOLLOWING
from photometer.history.nouns import Curve
from photometer.history.repository import Repository
from photometer.history.site.benchmark_data import benchmark_data
from photometer.history.site.changes import site_changes
from photometer.history.site.commit_data import read_commit
from photometer.history.site.index_data import Latest, SiteOptions, commits_data, index_data
from photometer.history.site.names import SiteNames
from photometer.history.site.site_files import POLICY, data_script, document, script, style
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
    """The content of the store at one moment; the numbers in all data files are those of its names."""

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
        """Return numbers that change when something is added or pruned."""
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


ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8756
# A smaller file is sent sooner than it is compressed.
LEAST_COMPRESSED = 4096
REQUEST_SECONDS = 30
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@functools.lru_cache(maxsize=8)
def _compressed(text: str) -> bytes:
    """Keep the index, which every tab requests and which is the same until the store changes."""
    return gzip.compress(text.encode("utf-8", "backslashreplace"), 1)


class LocalServer(ThreadingHTTPServer):
    """Serves until `shutdown`. Port 0 takes any free one; `url` says which."""

    daemon_threads = True

    def __init__(self, site: LiveSite, port: int = DEFAULT_PORT) -> None:
        self.site = site
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise PhotometerError(
                f"port {port} cannot be used: {error.strerror or error}",
                remedy="Choose another one with --port; --port 0 takes any free one.",
            ) from error

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}/"

    def server_bind(self) -> None:
        # The base class asks the name server who 127.0.0.1 is, which can take seconds; nobody needs to know.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = ADDRESS, self.port

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a closed connection of a reader is not our error."""


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    protocol_version = "HTTP/1.1"
    server_version = "photometer"
    sys_version = ""
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:
        self._reply()

    def do_HEAD(self) -> None:
        self._reply()

    def _reply(self) -> None:
        if not self._is_from_here():
            self._send(HTTPStatus.FORBIDDEN, "text/plain; charset=utf-8", "This server is for its own pages only.\n")
            return
        try:
            path = urlsplit(self.path).path
        except ValueError:
            self._send(HTTPStatus.BAD_REQUEST, "text/plain; charset=utf-8", "This is not an address.\n")
            return
        try:
            found = self.server.site.file(path)
        except PhotometerError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", f"{error}\n")
            return
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", "There is no such file.\n")
        else:
            self._send(HTTPStatus.OK, found.media_type, found.text)

    def _is_from_here(self) -> bool:
        """Whether the request names this server, and no other site has sent it."""
        hosts = {f"{name}:{self.server.port}" for name in (ADDRESS, "localhost")}
        return self.headers.get("Host") in hosts and self.headers.get("Sec-Fetch-Site", "none") in (
            "none",
            "same-origin",
        )

    def _send(self, status: HTTPStatus, media_type: str, text: str) -> None:
        content = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        if len(content) >= LEAST_COMPRESSED and "gzip" in self.headers.get("Accept-Encoding", ""):
            content = _compressed(text)
            self.send_header("Content-Encoding", "gzip")
        for name, value in {**_HEADERS, "Content-Type": media_type, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: addresses may contain text from others, which a terminal would show."""
