"""Posting the comment: created once, then updated; limits are waited for, errors told, and the token nowhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from photometer.ci.github_api import MOST_WAITING_SECONDS, GitHubApi
from photometer.ci.github_run import Head
from photometer.errors import PostingError
from tests.ci.fake_github import TOKEN, FakeGitHub, fake_github

MARKER = "<!-- photometer-comment suite -->"


@dataclasses.dataclass
class Clock:
    seconds: float = 1000.0
    waits: list[float] = dataclasses.field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds

    def now(self) -> float:
        return self.seconds


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with fake_github() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def api(github: FakeGitHub, clock: Clock) -> GitHubApi:
    return GitHubApi("a/b", TOKEN, github.url, sleep=clock.sleep, now=clock.now)


def test_created_once_then_updated_in_place(github: FakeGitHub, api: GitHubApi) -> None:
    for number in range(150):
        github.add(f"a remark, {number}", "somebody", "User")
    assert api.post(7, f"{MARKER}\nfirst").action == "created"
    assert api.post(7, f"{MARKER}\nsecond").action == "updated"
    assert api.post(7, f"{MARKER}\nsecond").action == "unchanged"
    assert [each["body"] for each in github.comments[150:]] == [f"{MARKER}\nsecond"]
    # Another suite has a comment of its own.
    assert api.post(7, "<!-- photometer-comment other -->\nx").action == "created"


def test_a_comment_of_somebody_else_is_not_overwritten(github: FakeGitHub, api: GitHubApi) -> None:
    github.add(f"{MARKER}\nmine, says a stranger", "stranger", "User")
    assert api.post(7, f"{MARKER}\nours").action == "created"
    assert github.comments[0]["body"].endswith("stranger")
    # A token of a person finds that person's own comment.
    github.login = "person"
    assert api.post(7, f"{MARKER}\nours").action == "created"
    assert api.post(7, f"{MARKER}\nours again").action == "updated"
    assert github.comments[2]["body"].endswith("ours again")


def test_a_comment_that_was_deleted_meanwhile_is_made_again(github: FakeGitHub, api: GitHubApi) -> None:
    github.add(f"{MARKER}\nold")
    github.next_answers = [(200, {}, list(github.comments)), (403, {}, {}), (404, {}, {"message": "Not Found"})]
    assert api.post(7, f"{MARKER}\nnew").action == "created"


@pytest.mark.parametrize(
    ("headers", "status", "waits"),
    [
        ({"Retry-After": "7"}, 403, [7.0]),
        ({"Retry-After": "3"}, 429, [3.0]),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1020"}, 403, [20.0]),
        ({}, 429, [60.0]),
        ({}, 502, [1.0]),
        ({}, 0, [1.0]),
    ],
)
def test_it_waits_and_tries_again(
    github: FakeGitHub, api: GitHubApi, clock: Clock, headers: dict[str, str], status: int, waits: list[float]
) -> None:
    github.next_answers = [(status, headers, {"message": "You have exceeded a secondary rate limit"})]
    assert api.post(7, f"{MARKER}\nx").action == "created"
    assert clock.waits == waits


def test_it_says_why_it_waits(github: FakeGitHub, clock: Clock) -> None:
    said: list[str] = []
    api = GitHubApi("a/b", TOKEN, "http://127.0.0.1:1", say=said.append, sleep=clock.sleep, now=clock.now)
    with pytest.raises(PostingError, match="cannot be reached"):
        api.post(7, f"{MARKER}\nx")
    assert len(said) == len(clock.waits) > 1
    assert "cannot be reached" in said[0]
    assert "next attempt in 1 s (2 of 6)" in said[0]


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "\u00b2"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\u00b2"}]
)
def test_a_header_that_is_no_number_is_ignored(
    github: FakeGitHub, api: GitHubApi, clock: Clock, headers: dict[str, str]
) -> None:
    github.next_answers = [(429, headers, {"message": "limit"})]
    assert api.post(7, f"{MARKER}\nx").action == "created"
    assert clock.waits == [60.0]


def test_a_number_that_is_none_is_refused(github: FakeGitHub, api: GitHubApi) -> None:
    user = {"login": "ada", "type": "Bot"}
    github.next_answers = [(200, {}, [{"id": [], "body": f"{MARKER}\nold", "user": user}]), (200, {}, {"login": "ada"})]
    with pytest.raises(PostingError, match="id that is not a number"):
        api.post(7, f"{MARKER}\nx")


def test_it_does_not_wait_for_an_hour(github: FakeGitHub, api: GitHubApi, clock: Clock) -> None:
    github.next_answers = [(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4600"}, {"message": "limit"})]
    with pytest.raises(PostingError, match="wait 3600 s"):
        api.post(7, f"{MARKER}\nx")
    github.next_answers = [(500, {}, {"message": "no"})] * 20
    with pytest.raises(PostingError, match="status 500"):
        api.post(7, f"{MARKER}\nx")
    assert sum(clock.waits) < MOST_WAITING_SECONDS


def test_a_comment_is_not_made_twice_if_the_line_breaks(github: FakeGitHub, api: GitHubApi) -> None:
    github.next_answers = [(200, {}, []), (502, {}, {"message": "bad gateway"})]
    with pytest.raises(PostingError, match="502"):
        api.post(7, f"{MARKER}\nx")
    assert github.requests.count("POST /repos/a/b/issues/7/comments") == 1


@pytest.mark.parametrize(
    ("status", "told"),
    [(401, "GITHUB_TOKEN"), (403, "pull-requests: write"), (404, "Check the repository"), (422, "Try again later")],
)
def test_errors_say_what_to_do_and_not_the_token(github: FakeGitHub, api: GitHubApi, status: int, told: str) -> None:
    github.next_answers = [(status, {}, {"message": f"no, {TOKEN} may not"})]
    with pytest.raises(PostingError) as caught:
        api.post(7, f"{MARKER}\nx")
    assert told in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_redirection_is_not_followed(github: FakeGitHub, api: GitHubApi) -> None:
    with fake_github() as elsewhere:
        github.next_answers = [(302, {"Location": f"{elsewhere.url}/steal"}, {})]
        with pytest.raises(PostingError, match="302"):
            api.post(7, f"{MARKER}\nx")
        assert elsewhere.requests == []


def test_nonsense_is_refused(github: FakeGitHub, api: GitHubApi) -> None:
    github.next_answers = [(200, {}, b"<html>")]
    with pytest.raises(PostingError, match="did not return a list of comments"):
        api.post(7, f"{MARKER}\nx")


def test_too_long_a_text_is_not_sent(github: FakeGitHub, api: GitHubApi) -> None:
    with pytest.raises(PostingError, match="65,537 characters"):
        api.post(7, MARKER + "x" * (65_537 - len(MARKER)))
    assert github.requests == []


def test_the_pull_request_of_a_fork_is_found_by_its_head(github: FakeGitHub, api: GitHubApi) -> None:
    github.pulls = [{"number": 7, "head": {"sha": "abc"}}]
    assert api.pull_request_of(Head("abc", "fork:branch")) == 7
    # A commit that is no longer the head is not commented on.
    assert api.pull_request_of(Head("def", "fork:branch")) is None


@pytest.mark.parametrize(
    ("repository", "token", "url"),
    [
        ("a/b/c", TOKEN, "https://api.github.com"),
        ("a/b", "", "https://api.github.com"),
        ("a/b", TOKEN, "http://api.github.com"),
        ("a/b", TOKEN, "file:///etc/passwd"),
    ],
)
def test_what_cannot_be_meant(repository: str, token: str, url: str) -> None:
    with pytest.raises(PostingError):
        GitHubApi(repository, token, url)
