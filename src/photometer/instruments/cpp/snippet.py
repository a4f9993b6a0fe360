"""The dataclasses of the C++ builder: its input (snippet, options) and its result (library, symbol)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from photometer.errors import DefinitionError


@dataclass(frozen=True)
class CppSnippet:
    """A statement to repeat, code that runs once before it, and code at file level."""

    stmt: str
    setup: str = ""
    global_setup: str = ""

    def __post_init__(self) -> None:
        for name in ("stmt", "setup", "global_setup"):
            if "\0" in getattr(self, name):
                raise DefinitionError(f"the C++ {name} contains a NUL character, which no compiler accepts; remove it")


@dataclass(frozen=True)
class CppOptions:
    """How to compile.

    `compiler` is a command such as `g++-13` or `ccache g++`; without it, CXX is used, then c++, g++ or clang++.
    `extra_flags` come after our own, so they take precedence. `alone` puts every snippet into its own file: this is
    slower, but then the compiler's inlining does not depend on which snippets are built together.
    """

    compiler: str | None = None
    extra_flags: tuple[str, ...] = ()
    include_paths: tuple[Path, ...] = ()
    jobs: int | None = None
    alone: bool = False
    cache_folder: Path | None = None


@dataclass(frozen=True)
class BuiltSnippet:
    """The place of the compiled snippet. `cached` means that no compiler was run for it."""

    library: Path
    symbol: str
    cached: bool
