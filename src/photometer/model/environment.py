"""Environment: which interpreter is measured, with which settings. A noun; session/fork_server.py starts it."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from photometer.model.own_code import importable_here


@dataclasses.dataclass(frozen=True)
class Environment:
    """A Python interpreter with torch, paths to put first on its sys.path, and environment variables.

    `importable` are folders of the user's own code (see own_code.py), which come after the standard library.
    """

    python: str
    path: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    name: str = ""
    importable: tuple[str, ...] = ()

    @classmethod
    def current(cls, **changes: Any) -> Environment:
        """Return the interpreter that runs this, with what this process can import."""
        return cls(**{"python": sys.executable, "importable": importable_here(), **changes})

    def with_code(self, folders: tuple[str, ...]) -> Environment:
        """Return the environment with these folders first on its path: the code of a suite of another tool."""
        if self.path[: len(folders)] == folders:
            return self
        return dataclasses.replace(self, path=(*folders, *self.path))
