"""`photometer cache`: how much the compiled C++ snippets take, and `--clear` to remove them."""

from __future__ import annotations

from typing import Annotated

import typer

from photometer.cli.printing import show_text

_MIB = 1024 * 1024


def register(app: typer.Typer) -> None:
    app.command("cache", help="Show the cache of compiled C++ snippets, or clear it.")(cache)


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all compiled snippets.")] = False,
) -> None:
    from photometer.instruments.cpp.cache import SnippetCache

    snippets = SnippetCache()
    usage = snippets.clear() if clear else snippets.usage()
    size = f"{usage.snippets} snippets in {usage.libraries} libraries, {usage.size_bytes / _MIB:.1f} MiB"
    if clear:
        show_text(f"removed {size} from {usage.folder}")
    else:
        show_text(f"{usage.folder}\n{size} of at most {usage.most_bytes // _MIB} MiB")
