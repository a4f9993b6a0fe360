"""A scheduler for pytest-xdist that gives all benchmarks to one worker, so that they do not disturb each other.

Only workers know which tests are benchmarks, and the scheduler knows only ids: workers leave the list in a file. (The
groups of xdist itself are part of a test's id, which pytest 9.2 does not allow to change.)
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.model.whole_file import write_text_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP = "photometer benchmarks"


def write_benchmarks(path: Path, tests: Iterable[str]) -> None:
    """Leave the list for the scheduler; all workers collect the same tests, so any of them may overwrite it."""
    write_text_whole(path, json.dumps(list(tests)))


class Together:
    """Which tests belong together, according to the list that the workers wrote."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _benchmarks(self) -> frozenset[str]:
        try:
            return frozenset(json.loads(self._path.read_text()))
        except (OSError, ValueError):
            return frozenset()

    def group_of(self, test: str) -> str:
        return GROUP if test in self._benchmarks else test


def make_scheduler(config: Any, log: Any, path: Path) -> Any:
    """Return a scheduler that hands out single tests, and all benchmarks in one piece."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    together = Together(path)

    class OneWorkerScheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return together.group_of(nodeid)

    return OneWorkerScheduling(config, log)
