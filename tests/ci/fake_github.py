"""A local server that plays the part of GitHub's REST interface that is used, and can be told to fail."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "a-secret-token-of-a-test"
LARGEST = 65_536


class FakeGitHub:
    """Comments of pull request 7 of a/b, requests so far, and answers that come before the ordinary ones."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.pulls: list[dict[str, Any]] = []
        self.requests: list[str] = []
        # Status, headers, body: taken one by one before anything else is answered.
        self.next_answers: list[tuple[int, dict[str, str], Any]] = []
        self.login: str | None = None
        self.url = ""

    def add(self, body: str, login: str = "github-actions[bot]", kind: str = "Bot") -> dict[str, Any]:
        number = len(self.comments) + 1
        comment = {
            "id": number,
            "body": body,
            "html_url": f"{self.url}/c/{number}",
            "user": {"login": login, "type": kind},
        }
        self.comments.append(comment)
        return comment

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, dict[str, str], Any]:
        if self.next_answers:
            return self.next_answers.pop(0)
        if path == "/user":
            return (200, {}, {"login": self.login}) if self.login else (403, {}, {"message": "not for integrations"})
        if path == "/repos/a/b/pulls":
            return 200, {}, self.pulls
        if body is not None and len(body["body"]) > LARGEST:
            return 422, {}, {"message": "body is too long (maximum is 65536 characters)"}
        if path == "/repos/a/b/issues/7/comments":
            if method == "POST":
                return (
                    201,
                    {},
                    self.add(body["body"], self.login or "github-actions[bot]", "User" if self.login else "Bot"),
                )
            size, page = int(query["per_page"][0]), int(query["page"][0])
            return 200, {}, self.comments[(page - 1) * size : page * size]
        for comment in self.comments:
            if path == f"/repos/a/b/issues/comments/{comment['id']}" and method == "PATCH":
                comment["body"] = body["body"]
                return 200, {}, comment
        return 404, {}, {"message": "Not Found"}


@contextlib.contextmanager
def fake_github() -> Iterator[FakeGitHub]:
    github = FakeGitHub()

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            parts = urlsplit(self.path)
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            github.requests.append(f"{self.command} {parts.path}")
            headers: dict[str, str]
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                status, headers, body = 401, {}, {"message": "Bad credentials"}
            else:
                sent = json.loads(content) if content else None
                status, headers, body = github.answer(self.command, parts.path, parse_qs(parts.query), sent)
            if status == 0:
                # The line breaks in the midst.
                self.close_connection = True
                return
            text = json.dumps(body).encode() if not isinstance(body, bytes) else body
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = respond

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        github.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield github
        finally:
            server.shutdown()
            thread.join()
