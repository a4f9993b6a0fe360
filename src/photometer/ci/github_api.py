"""GitHubApi: finds, creates and updates one comment of a pull request through GitHub's REST interface.

In: a repository, a token, a text whose first line is its marker. Out: the comment's address. It waits if GitHub asks
for it, retries if a server fails, and gives up after two minutes. Errors never contain the token or headers,
redirects are not followed (they would carry the token to another host), and plain HTTP is for localhost only.
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
# In total for one command: a check that has its verdict must not wait an hour to post it.
MOST_WAITING_SECONDS = 120.0
FIRST_WAIT_SECONDS = 1.0
TRIES = 6
PAGE = 100
# Ten thousand comments.
MOST_PAGES = 100
LARGEST_RESPONSE = 32 * 1024 * 1024
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
    """The action on a comment: created, updated, or unchanged."""

    action: str
    address: str


@dataclasses.dataclass(frozen=True)
class _Response:
    status: int
    headers: Mapping[str, str]
    content: Any


class GitHubApi:
    """One repository. `say` is called with the reason for each wait; `sleep` and `now` are replaced in tests."""

    def __init__(
        self,
        repository: str,
        token: str,
        url: str = "https://api.github.com",
        *,
        say: Callable[[str], object] = lambda text: None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not _REPOSITORY.fullmatch(repository):
            raise PostingError(
                f"{repository!r} is not a repository" if repository else "no repository is named",
                remedy="Give OWNER/NAME, or set GITHUB_REPOSITORY.",
            )
        if not token:
            raise PostingError("there is no token", remedy="Set the variable GITHUB_TOKEN.")
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
            raise PostingError(
                f"{url} is not an https address", remedy="Use https: the token must not be sent unencrypted."
            )
        self._root = f"{url.rstrip('/')}/repos/{repository}"
        self._url = url.rstrip("/")
        self._token = token
        self._say = say
        self._sleep = sleep
        self._now = now
        self._waited = 0.0
        self._opener = urllib.request.build_opener(_NoRedirect)

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
        place = f"{self._root}/issues/comments/{_whole(before, 'id')}"
        response = self._ask("PATCH", place, {"body": text}, missing_is_fine=True)
        if response.status == 404:
            # It has been deleted meanwhile.
            made = self._ask("POST", f"{self._root}/issues/{pull_request}/comments", {"body": text}).content
            return PostedComment("created", _text(made, "html_url"))
        return PostedComment("updated", _text(response.content, "html_url"))

    def pull_request_of(self, head: Head) -> int | None:
        """Return the open pull request whose head is this commit; None if there is none, or its head is newer."""
        query = urllib.parse.urlencode({"state": "open", "head": head.branch, "per_page": PAGE})
        found = self._ask("GET", f"{self._root}/pulls?{query}").content
        for pull in found if isinstance(found, list) else []:
            if isinstance(pull, dict) and isinstance(pull.get("head"), dict) and pull["head"].get("sha") == head.commit:
                return _whole(pull, "number")
        return None

    def _find(self, pull_request: int, marker: str) -> dict[str, Any] | None:
        """Return our comment. Another author's comment with the same marker is not ours, even if we could edit it."""
        login: str | None = None
        for page in range(1, MOST_PAGES + 1):
            query = urllib.parse.urlencode({"per_page": PAGE, "page": page})
            comments = self._ask("GET", f"{self._root}/issues/{pull_request}/comments?{query}").content
            if not isinstance(comments, list):
                raise PostingError("GitHub did not return a list of comments", remedy="Try again later.")
            for comment in comments:
                if isinstance(comment, dict) and _text(comment, "body").startswith(marker):
                    login = self._login() if login is None else login
                    user = comment.get("user")
                    author = user if isinstance(user, dict) else {}
                    # A workflow's own token has no login; its comments are by a bot.
                    if author.get("login") == login if login else author.get("type") == "Bot":
                        return comment
            if len(comments) < PAGE:
                return None
        return None

    def _login(self) -> str:
        """Return the login of the token's owner; empty if it is a workflow's token."""
        try:
            content = self._ask("GET", f"{self._url}/user").content
        except PostingError:
            return ""
        return _text(content, "login")

    def _ask(self, method: str, url: str, body: object = None, *, missing_is_fine: bool = False) -> _Response:
        wait = FIRST_WAIT_SECONDS
        for attempt in range(1, TRIES + 1):
            response = self._ask_once(method, url, body)
            if 200 <= response.status < 300 or (missing_is_fine and response.status == 404):
                return response
            asked = self._asked_to_wait(response)
            retries = asked is not None or response.status == 0 or response.status >= 500
            # A request that creates something must not be repeated if the first one may have arrived.
            if method == "POST" and asked is None and response.status != 503:
                retries = False
            pause = wait if asked is None else asked
            if not retries or attempt == TRIES or self._waited + pause > MOST_WAITING_SECONDS:
                raise self._refused(method, url, response, asked)
            reason = self._refused(method, url, response, asked).message
            self._say(f"{reason}; next attempt in {pause:.0f} s ({attempt + 1} of {TRIES})")
            self._sleep(pause)
            self._waited += pause
            wait *= 2
        raise AssertionError("the last attempt returns or raises")

    def _ask_once(self, method: str, url: str, body: object) -> _Response:
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
                return _Response(reply.status, _lower(reply.headers), _json(reply.read(LARGEST_RESPONSE)))
        except urllib.error.HTTPError as error:
            with error:
                return _Response(error.code, _lower(error.headers), _json(_read(error)))
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            cause = getattr(error, "reason", None) or type(error).__name__
            return _Response(0, {}, {"message": self._without_token(str(cause))})

    def _asked_to_wait(self, response: _Response) -> float | None:
        """Return the seconds that GitHub asks us to wait, if it refused because of its rate limits."""
        if response.status not in (403, 429):
            return None
        after = response.headers.get("retry-after", "")
        if _is_number(after):
            return float(after)
        reset = response.headers.get("x-ratelimit-reset", "")
        if response.headers.get("x-ratelimit-remaining") == "0" and _is_number(reset):
            return max(float(reset) - self._now(), 1.0)
        limited = response.status == 429 or "rate limit" in _text(response.content, "message").lower()
        return 60.0 if limited else None

    def _refused(self, method: str, url: str, response: _Response, asked: float | None) -> PostingError:
        reason = self._without_token(_text(response.content, "message"))[:300]
        place = urllib.parse.urlsplit(url).path
        if asked is not None:
            return PostingError(
                f"GitHub's rate limit is reached; wait {asked:.0f} s: {reason}", remedy="Post the comment later."
            )
        if response.status == 0:
            return PostingError(f"GitHub cannot be reached: {reason}", remedy="Check the network and GITHUB_API_URL.")
        remedy = _REMEDIES.get(response.status, "Try again later.")
        return PostingError(f"GitHub refused {method} {place} with status {response.status}: {reason}", remedy=remedy)

    def _without_token(self, text: str) -> str:
        return text.replace(self._token, "***")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _read(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(LARGEST_RESPONSE)
    except (OSError, http.client.HTTPException):
        return b""


def _lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _is_number(text: str) -> bool:
    """Say whether a header has a number; `isdigit` alone also takes "²", which no number is read from."""
    return text.isascii() and text.isdigit()


def _whole(record: Any, key: str) -> int:
    value = record.get(key)
    if not isinstance(value, int):
        raise PostingError(f"GitHub sent a {key} that is not a number", remedy="Try again later.")
    return value


def _text(record: Any, key: str) -> str:
    value = record.get(key) if isinstance(record, dict) else None
    return value if isinstance(value, str) else ""
