"""Environment: which interpreter is measured, with which settings. A noun; session/fork_server.py starts it."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any


@dataclasses.dataclass(frozen=True)
class Environment:
    """A Python interpreter with torch, paths to put first on its sys.path, and environment variables."""

    python: str
    path: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    name: str = ""

    @classmethod
    def current(cls, **changes: Any) -> Environment:
        """Return the interpreter that runs this."""
        return cls(python=sys.executable, **changes)
