"""Environment: which interpreter is measured, with which settings. A noun; session/fork_server.py starts it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
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
        """The interpreter that runs this."""
        return cls(python=sys.executable, **changes)

    def to_json(self) -> dict[str, Any]:
        return {
            "python": self.python,
            "path": list(self.path),
            "variables": dict(self.variables),
            "name": self.name,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Environment:
        variables = tuple(sorted((str(k), str(v)) for k, v in record.get("variables", {}).items()))
        path = tuple(str(p) for p in record.get("path", ()))
        return cls(str(record["python"]), path, variables, str(record.get("name", "")))
