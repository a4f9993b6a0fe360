"""A web server for one `LiveSite`, on this machine's own address only.

Other users of the network cannot reach it. Pages of other sites in the same browser can send requests to localhost, so
a request must name this server as its host and must not come from another site; nothing is ever written.
"""

from __future__ import annotations

import functools
import gzip
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from photometer.errors import PhotometerError
from photometer.history.site.document import POLICY
from photometer.history.site.live_site import LiveSite

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
    """Keep the index, which is asked for by every tab and is the same until the store has changed."""
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
        """Say nothing: a reader that has gone away is no error of ours."""


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
        """Log nothing: addresses may hold what others wrote, and a terminal would show it."""
