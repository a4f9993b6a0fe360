"""The frozen nouns of the C++ builder: what is asked for (snippet, options), what comes back (library, symbol)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from photometer.errors import DefinitionError


@dataclass(frozen=True)
class CppSnippet:
    """A statement to repeat, what runs once before it, and what stands at file level."""

    stmt: str
    setup: str = ""
    global_setup: str = ""

    def __post_init__(self) -> None:
        for name in ("stmt", "setup", "global_setup"):
            if "\0" in getattr(self, name):
                raise DefinitionError(f"the C++ {name} holds a NUL character, which no compiler reads; remove it")


@dataclass(frozen=True)
class CppOptions:
    """How to compile.

    `compiler` is a command such as `g++-13` or `ccache g++`; without it, CXX decides, then c++, g++, clang++.
    `extra_flags` come after our own, so they win. `alone` gives every snippet a file of its own: slower, but then no
    inlining decision of the compiler depends on which snippets were built together.
    """

    compiler: str | None = None
    extra_flags: tuple[str, ...] = ()
    include_paths: tuple[Path, ...] = ()
    jobs: int | None = None
    alone: bool = False
    cache_folder: Path | None = None


@dataclass(frozen=True)
class BuiltSnippet:
    """Where the compiled snippet lies. `cached` says that no compiler ran for it."""

    library: Path
    symbol: str
    cached: bool
