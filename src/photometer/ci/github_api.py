"""GitHubApi: finds, creates and updates one comment of a pull request through GitHub's REST interface.

In: a repository, a token, a text whose first line is its marker. Out: the comment's address. It waits if GitHub asks
for it, tries again if a server fails, and gives up after two minutes. Neither token nor headers are ever part of an
error, redirections are not followed (they would carry the token to another host), and plain HTTP is for this machine.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from photometer.ci.comment_text import LARGEST_COMMENT
from photometer.ci.github_run import Head
from photometer.errors import PostingError

CONNECT_SECONDS = 30.0
# In all, for one command: a check that has its verdict must not wait for an hour to say it.
MOST_WAITING_SECONDS = 120.0
FIRST_WAIT_SECONDS = 1.0
TRIES = 6
PAGE = 100
# Ten thousand comments; who has more does not need one of ours.
MOST_PAGES = 100
LARGEST_ANSWER = 32 * 1024 * 1024
_LOCAL = ("127.0.0.1", "localhost", "::1")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_REMEDIES = {
    401: "Check the token in GITHUB_TOKEN.",
    403: "Give the job `permissions: pull-requests: write`. A run for a fork has none: see docs/ci.md.",
    404: "Check the repository and the number, and that the token may see it.",
    410: "The conversation is locked or gone.",
}


@dataclasses.dataclass(frozen=True)
class PostedComment:
    """What became of a comment: `action` is created, updated, or unchanged."""

    action: str
    address: str


@dataclasses.dataclass(frozen=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    content: Any


class GitHubApi:
    """One repository. `sleep` and `now` are replaced in tests."""

    def __init__(
        self,
        repository: str,
        token: str,
        url: str = "https://api.github.com",
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not _REPOSITORY.fullmatch(repository):
            raise PostingError(f"{repository!r} names no repository", remedy="Give OWNER/NAME, or GITHUB_REPOSITORY.")
        if not token:
            raise PostingError("there is no token", remedy="Put it into the variable GITHUB_TOKEN.")
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
            raise PostingError(f"{url} is not a https address", remedy="A token is not sent in the clear.")
        self._root = f"{url.rstrip('/')}/repos/{repository}"
        self._url = url.rstrip("/")
        self._token = token
        self._sleep = sleep
        self._now = now
        self._waited = 0.0
        self._opener = urllib.request.build_opener(_NoRedirection)

    def post(self, pull_request: int, text: str) -> PostedComment:
        """Create the comment, or update the one that has the same first line and is ours."""
        if len(text) > LARGEST_COMMENT:
            raise PostingError(f"the comment has {len(text):,} characters", remedy=f"{LARGEST_COMMENT:,} are allowed.")
        marker = text.splitlines()[0]
        before = self._find(pull_request, marker)
        if before is None:
            made = self._ask("POST", f"{self._root}/issues/{pull_request}/comments", {"body": text}).content
            return PostedComment("created", _text(made, "html_url"))
        if _text(before, "body").replace("\r\n", "\n").rstrip() == text.rstrip():
            return PostedComment("unchanged", _text(before, "html_url"))
        place = f"{self._root}/issues/comments/{int(before['id'])}"
        answer = self._ask("PATCH", place, {"body": text}, missing_is_fine=True)
        if answer.status == 404:
            # Somebody has deleted it meanwhile.
            made = self._ask("POST", f"{self._root}/issues/{pull_request}/comments", {"body": text}).content
            return PostedComment("created", _text(made, "html_url"))
        return PostedComment("updated", _text(answer.content, "html_url"))

    def pull_request_of(self, head: Head) -> int | None:
        """Return the open pull request whose head is this commit; None if there is none, or it has moved on."""
        query = urllib.parse.urlencode({"state": "open", "head": head.branch, "per_page": PAGE})
        found = self._ask("GET", f"{self._root}/pulls?{query}").content
        for pull in found if isinstance(found, list) else []:
            if isinstance(pull, dict) and isinstance(pull.get("head"), dict) and pull["head"].get("sha") == head.commit:
                return int(pull["number"])
        return None

    def _find(self, pull_request: int, marker: str) -> dict[str, Any] | None:
        """Return our comment. One of somebody else with the same marker is not ours, though we might overwrite it."""
        login: str | None = None
        for page in range(1, MOST_PAGES + 1):
            query = urllib.parse.urlencode({"per_page": PAGE, "page": page})
            comments = self._ask("GET", f"{self._root}/issues/{pull_request}/comments?{query}").content
            if not isinstance(comments, list):
                raise PostingError("GitHub returned no list of comments", remedy="Try again later.")
            for comment in comments:
                if isinstance(comment, dict) and _text(comment, "body").startswith(marker):
                    login = self._login() if login is None else login
                    user = comment.get("user")
                    author = user if isinstance(user, dict) else {}
                    # A workflow's own token has no login; what it writes is by a bot.
                    if author.get("login") == login if login else author.get("type") == "Bot":
                        return comment
            if len(comments) < PAGE:
                return None
        return None

    def _login(self) -> str:
        """Return whose token it is; empty if it is that of a workflow."""
        try:
            content = self._ask("GET", f"{self._url}/user").content
        except PostingError:
            return ""
        return _text(content, "login")

    def _ask(self, method: str, url: str, body: object = None, *, missing_is_fine: bool = False) -> _Answer:
        wait = FIRST_WAIT_SECONDS
        for turn in range(1, TRIES + 1):
            answer = self._ask_once(method, url, body)
            if 200 <= answer.status < 300 or (missing_is_fine and answer.status == 404):
                return answer
            asked = self._asked_to_wait(answer)
            retries = asked is not None or answer.status == 0 or answer.status >= 500
            # A request to create must not be repeated if the first may have arrived.
            if method == "POST" and asked is None and answer.status != 503:
                retries = False
            pause = wait if asked is None else asked
            if not retries or turn == TRIES or self._waited + pause > MOST_WAITING_SECONDS:
                raise self._refused(method, url, answer, asked)
            self._sleep(pause)
            self._waited += pause
            wait *= 2
        raise AssertionError("the last turn returns or raises")

    def _ask_once(self, method: str, url: str, body: object) -> _Answer:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "User-Agent": "photometer",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=CONNECT_SECONDS) as reply:
                return _Answer(reply.status, _lower(reply.headers), _json(reply.read(LARGEST_ANSWER)))
        except urllib.error.HTTPError as error:
            with error:
                return _Answer(error.code, _lower(error.headers), _json(_read(error)))
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or type(error).__name__
            return _Answer(0, {}, {"message": self._without_token(str(reason))})

    def _asked_to_wait(self, answer: _Answer) -> float | None:
        """Return the seconds that GitHub asks to wait, if this is about its limits."""
        if answer.status not in (403, 429):
            return None
        after = answer.headers.get("retry-after", "")
        if after.isdigit():
            return float(after)
        reset = answer.headers.get("x-ratelimit-reset", "")
        if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            return max(float(reset) - self._now(), 1.0)
        limited = answer.status == 429 or "rate limit" in _text(answer.content, "message").lower()
        return 60.0 if limited else None

    def _refused(self, method: str, url: str, answer: _Answer, asked: float | None) -> PostingError:
        said = self._without_token(_text(answer.content, "message"))[:300]
        place = urllib.parse.urlsplit(url).path
        if asked is not None:
            return PostingError(
                f"GitHub's limit is reached; it asks to wait {asked:.0f} s: {said}", remedy="Post the comment later."
            )
        if answer.status == 0:
            return PostingError(f"GitHub cannot be reached: {said}", remedy="Check the network and GITHUB_API_URL.")
        remedy = _REMEDIES.get(answer.status, "Try again later.")
        return PostingError(f"GitHub refused {method} {place} with status {answer.status}: {said}", remedy=remedy)

    def _without_token(self, text: str) -> str:
        return text.replace(self._token, "***")


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _read(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(LARGEST_ANSWER)
    except (OSError, http.client.HTTPException):
        return b""


def _lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _text(record: Any, key: str) -> str:
    value = record.get(key) if isinstance(record, dict) else None
    return value if isinstance(value, str) else ""
