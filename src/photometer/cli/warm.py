"""`photometer warm`: which servers stay warm for the next command, and how to end them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.printing import show_text

if TYPE_CHECKING:
    from photometer.session.warm import WarmZygote

_MIB = 1024 * 1024


def register(app: typer.Typer) -> None:
    app.command("warm", help="Show the servers that stay warm for the next command, or end them.")(warm)


def warm(stop: Annotated[bool, typer.Option("--stop", help="End all of them.")] = False) -> None:
    from photometer.session.warm import WarmFolder

    folder = WarmFolder(0.0)
    if stop:
        ended = folder.clear()
        show_text(f"{ended} warm server{'' if ended == 1 else 's'} ended")
        return
    found = folder.present()
    if not found:
        show_text("no warm servers")
        return
    for each in found:
        show_text(_line(each))
    size = sum(each.size_bytes or 0 for each in found) / _MIB
    show_text(f"{len(found)} warm servers, {size:.0f} MiB of memory; `photometer warm --stop` ends them")


def _line(each: WarmZygote) -> str:
    size = "?" if each.size_bytes is None else f"{each.size_bytes / _MIB:.0f}"
    imports = ", ".join(each.imports) or "torch"
    outdated = "" if each.is_current else "  (outdated: will be replaced)"
    return f"  {each.name[:8]}  {size:>5} MiB  {_age(each.age_seconds):>7} old  {each.title}  {imports}{outdated}"


def _age(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
