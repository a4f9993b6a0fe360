"""`serve`: the same files as `publish`, live, to this machine's own pages only."""

from __future__ import annotations

import gzip
import http.client
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.errors import PhotometerError
from photometer.history.site.local_server import ADDRESS, LiveSite, LocalServer
from photometer.history.site.site_files import Published
from photometer.history.store import Store, open_store
from tests.history.site.conftest import COMMITS, OPTIONS
from tests.history.site.made_history import fill_store, some_benchmarks
from tests.history.site.read_site import from_script, site_data


@pytest.fixture(scope="module")
def server(store: Store) -> Iterator[LocalServer]:
    with LocalServer(LiveSite(store, OPTIONS, clock=lambda: 1_790_000_000), 0) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def reply(
    server: LocalServer, path: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(ADDRESS, server.port, timeout=60)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_files_are_those_that_publish_writes(server: LocalServer, published: Published) -> None:
    for name in ("index.html", "site.js", "site.css", "data/commits.js", "data/benchmark-1.js", "data/commit-0-3.js"):
        response, body = reply(server, f"/{name}")
        assert response.status == 200, name
        assert body.decode() == (published.page.parent / name).read_text(), name
    _, body = reply(server, "/data/index.js")
    index = from_script(body.decode())
    assert index.pop("is_live") is True
    written = site_data(published.page, "index")
    assert written.pop("is_live") is False
    assert index == written


def test_types_and_guards_are_said(server: LocalServer) -> None:
    response, _ = reply(server, "/")
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_it_listens_on_this_machine_only(server: LocalServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_for_this_machine_is_refused(server: LocalServer, host: str) -> None:
    response, body = reply(server, "/data/index.js", Host=host)
    assert response.status == 403
    assert b"photometerData" not in body


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_are_refused(server: LocalServer, site: str) -> None:
    response, body = reply(server, "/data/index.js", Sec_Fetch_Site=site)
    assert response.status == 403
    assert b"photometerData" not in body


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/data/../../history.sqlite",
        "/data/benchmark-999.js",
        "/data/commit-0-999.js",
        "/data/commit-9-0.js",
        "/data/benchmark-1.js/x",
        "/data/",
        "//evil.example/",
    ],
)
def test_nothing_else_is_there(server: LocalServer, path: str) -> None:
    assert reply(server, path)[0].status in (403, 404)


def test_only_reading_is_possible(server: LocalServer) -> None:
    assert reply(server, "/", "POST")[0].status == 501
    response, body = reply(server, "/site.js", "HEAD")
    assert (response.status, body) == (200, b"")
    assert int(response.headers["Content-Length"]) > 1000


def test_large_files_are_compressed_for_who_can_read_them(server: LocalServer) -> None:
    response, body = reply(server, "/site.js", Accept_Encoding="gzip, br")
    assert response.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == reply(server, "/site.js")[1]


def test_a_port_in_use_is_said(server: LocalServer) -> None:
    with pytest.raises(PhotometerError, match=f"port {server.port} cannot be used"):
        LocalServer(server.site, server.port)


@pytest.mark.lengthy
def test_new_results_are_seen(place: str) -> None:
    """In SQLite, and in a real PostgreSQL if there is one."""
    made = some_benchmarks(COMMITS)[:2]
    moments = iter((1, 2, 3))
    with open_store(place, create=True) as store:
        fill_store(store, made, 3)
        site = LiveSite(store, OPTIONS, clock=lambda: next(moments))

        def read(name: str) -> dict[str, object]:
            found = site.file(f"/data/{name}.js")
            assert found is not None
            return dict(from_script(found.text))

        assert read("state") == {"made_at": 1}
        assert site.file("/data/commit-0-3.js") is None
        fill_store(store, made, 5, start=3)
        read("state")
        site.wait()
        assert read("state") == {"made_at": 2}
        assert read("index")["projects"] == [{"name": "forge.example/torch", "commits": 5}]
        assert site.file("/data/commit-0-3.js") is not None


def test_a_benchmark_that_is_being_measured_does_not_disturb_who_reads(tmp_path: Path) -> None:
    with open_store(tmp_path / "live.sqlite", create=True) as store:
        fill_store(store, some_benchmarks()[:1], 3)
        site = LiveSite(store, OPTIONS, clock=lambda: 0)
        fill_store(store, some_benchmarks()[:1], 5, start=3, machines=("Another machine",))
        found = site.file("/data/benchmark-1.js")
    assert found is not None
    data = from_script(found.text)
    assert {curve["series"] for curve in data["curves"]} == {0}, "what the index does not know is not shown yet"


def test_an_address_that_is_none_gets_a_reply(server: LocalServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        host = f"127.0.0.1:{server.port}"
        connection.sendall(f"GET http://[ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 400 ")
