"""A build on a small machine: the counts' server starts meanwhile, if the build takes long, and is ready after it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from photometer.execution import local_executor
from photometer.execution.executor import BuildSnippets, Done
from photometer.execution.local_executor import LocalExecutor
from photometer.instruments.callgrind.counter import COUNTS
from photometer.session.session import ServerKind


class Watched:
    """A session of which only starts are seen."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.begun = threading.Event()

    def start_ahead(self, kinds: Sequence[ServerKind], cores: Sequence[int]) -> None:
        assert list(kinds) == [COUNTS]
        self.said.append(f"begin on {list(cores)}")
        self.begun.set()

    @contextlib.contextmanager
    def server(self, kind: ServerKind, cores: Sequence[int]) -> Iterator[None]:
        self.said.append("ready")
        yield

    def close(self) -> None:
        pass


def built(monkeypatch: pytest.MonkeyPatch, *, long: bool, counts_follow: bool) -> list[str]:
    session: Any = Watched()
    monkeypatch.setattr(local_executor, "FROM_CACHE_SECONDS", 0.0 if long else 600.0)
    with LocalExecutor(session) as executor:

        def build(work: BuildSnippets) -> Done:
            if long and counts_follow:
                assert session.begun.wait(60)
            session.said.append("built")
            return Done()

        monkeypatch.setattr(executor._builder, "build", build)
        executor.execute(BuildSnippets((), "/torch", counts_follow=counts_follow))
    return session.said


def test_a_long_build_has_the_counting_server_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert built(monkeypatch, long=True, counts_follow=True) == ["begin on []", "built", "ready"]


def test_a_build_from_the_cache_is_not_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert built(monkeypatch, long=False, counts_follow=True) == ["built"]


def test_nothing_starts_if_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert built(monkeypatch, long=True, counts_follow=False) == ["built"]
