"""Messages between a side and the near side besides the worker's requests and replies.

The near side sends SideSettings once; the side sends Stopped at each benchmark, and Ended for each test. While it is
stopped, a byte on the control socket asks for a child (FORK) or lets the test go on (GO_ON). Standard library only.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ..worker.messages import Reply, plain

FORK = b"f"
GO_ON = b"n"


@dataclasses.dataclass(frozen=True)
class SideSettings:
    """Which tests to run, in which order, where, and with which arguments of pytest."""

    tests: list[str]
    folder: str
    arguments: list[str]
    # After those of the environment.
    path: list[str] = dataclasses.field(default_factory=list)
    # Of the random numbers of the tests; None is the fixed one.
    seed: int | None = None

    def as_message(self) -> dict[str, Any]:
        message: dict[str, Any] = plain(self)
        return message


@dataclasses.dataclass(frozen=True)
class Stopped(Reply):
    """The test has called its fixture, and waits there. `stmt` is the call, in names that its forks define."""

    test: str
    stmt: str
    event: str = "stopped"


@dataclasses.dataclass(frozen=True)
class Ended(Reply):
    """How a test ended: "passed", "failed", "skipped", or "missing" if this side does not have it."""

    test: str
    outcome: str
    text: str = ""
    event: str = "ended"
