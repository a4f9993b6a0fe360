"""`photometer cache`: what compiled C++ snippets, environments and counts take on the disk, and how to remove them."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.printing import complain, show_text

if TYPE_CHECKING:
    from pathlib import Path

    from photometer.environments.kept import KeptEnvironment, KeptEnvironments

_MIB = 1024 * 1024
_GIB = 1024 * _MIB
_DAY_SECONDS = 86400.0
# A century: more is a slip of the finger.
MOST_DAYS = 36_500.0
# A request may have a hundred packages, and an install command a page.
_LONGEST_TEXT = 60
# Files of others that are named one by one.
_MOST_NAMED = 10


class Part(str, enum.Enum):
    SNIPPETS = "snippets"
    ENVIRONMENTS = "environments"
    CHECKOUTS = "checkouts"
    COUNTS = "counts"


def _days(value: float | None) -> float | None:
    # Not typer's own range, which some versions let nan pass.
    if value is not None and not 0.0 <= value <= MOST_DAYS:
        raise typer.BadParameter(f"{value:g} is not a number of days: give one between 0 and {MOST_DAYS:g}")
    return value


def register(app: typer.Typer) -> None:
    app.command(
        "cache", help="Show how much disk space compiled snippets, environments and counts take, or remove them."
    )(cache)


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove everything that is not in use.")] = False,
    only: Annotated[Part | None, typer.Option("--only", help="Show or clear this part only.")] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            "--remove", metavar="NAME", help="Remove an environment; the first digits of its name are enough."
        ),
    ] = None,
    unused: Annotated[
        float | None,
        typer.Option(
            "--unused", metavar="DAYS", callback=_days, help="Remove environments not used for this many days."
        ),
    ] = None,
) -> None:
    if remove or unused is not None:
        _remove_some(remove or [], unused)
        return
    shown: dict[Part, Callable[[bool], None]] = {
        Part.SNIPPETS: _snippets,
        Part.ENVIRONMENTS: _environments,
        Part.CHECKOUTS: _checkouts,
        Part.COUNTS: _counts,
    }
    for part, show in shown.items():
        if only in (None, part):
            show(clear)


def _snippets(clear: bool) -> None:
    from photometer.instruments.cpp.cache import SnippetCache

    snippets = SnippetCache()
    usage = snippets.clear() if clear else snippets.usage()
    size = f"{usage.snippets} snippets in {usage.libraries} libraries, {usage.size_bytes / _MIB:.1f} MiB"
    _tell_size(usage.folder, size, usage.most_bytes, usage.left, clear=clear)


def _counts(clear: bool) -> None:
    from photometer.comparing import kept_counts

    usage = kept_counts.clear() if clear else kept_counts.usage()
    size = f"instruction counts of {usage.counts} benchmarks of revisions, {usage.size_bytes / _MIB:.1f} MiB"
    _tell_size(usage.folder, size, kept_counts.MOST_BYTES, usage.left, clear=clear)


def _tell_size(folder: Path, size: str, most_bytes: int, left: tuple[Path, ...], *, clear: bool) -> None:
    if clear:
        show_text(f"removed {size}, from {folder}")
        _tell_left(left)
    else:
        show_text(f"{folder}\n{size} of at most {most_bytes // _MIB} MiB")


def _tell_left(left: tuple[Path, ...]) -> None:
    for path in left[:_MOST_NAMED]:
        why = "it is a link" if path.is_symlink() else "photometer did not write it"
        complain(f"{path} was not removed: {why}; remove it yourself if you do not need it")
    if len(left) > _MOST_NAMED:
        complain(f"{len(left) - _MOST_NAMED} more in {left[0].parent} were not removed")


def _environments(clear: bool) -> None:
    from photometer.environments.kept import KeptEnvironments

    kept = KeptEnvironments()
    if clear:
        gone, stayed = kept.clear()
        _tell_removed(kept, gone)
        _tell_in_use(stayed)
        return
    present = kept.present()
    size = sum(each.size_bytes for each in present) / _GIB
    shared = " (a file that several share is counted once)" if len(present) > 1 else ""
    show_text(
        f"{kept.folder}\n{len(present)} environments, {size:.1f} GiB of at most {kept.most_bytes // _GIB} GiB{shared}"
    )
    for each in present:
        show_text(_line(each))


def _checkouts(clear: bool) -> None:
    from photometer.environments.worktree import kept_checkouts

    kept = kept_checkouts()
    gone, stayed = kept.clear() if clear else ([], kept.present())
    size = sum(each.size_bytes for each in gone or stayed) / _MIB
    if clear:
        show_text(f"removed {len(gone)} revisions, {size:.1f} MiB, from {kept.folder}")
        _tell_in_use(stayed)
    else:
        show_text(f"{kept.folder}\n{len(stayed)} revisions, {size:.1f} MiB of at most {kept.most_bytes // _MIB} MiB")


def _line(each: KeptEnvironment) -> str:
    used = "in use         " if each.in_use else f"used {time.strftime('%Y-%m-%d', time.localtime(each.used_at))}"
    about = ", ".join(f"{name} {_shortened(value)}" for name, value in each.about)
    return f"  {each.key}  {each.size_bytes / _MIB:7.0f} MiB  {used}  {_shortened(each.title)}  ({about})"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _remove_some(names: list[str], unused_days: float | None) -> None:
    from photometer.environments.kept import KeptEnvironments

    kept = KeptEnvironments()
    present = kept.present()
    chosen = [] if unused_days is None else [each for each in present if _idle_days(each) >= unused_days]
    for name in names:
        named = [each for each in present if each.key.startswith(name)]
        if len(named) != 1:
            raise typer.BadParameter(f"{len(named)} environments have a name that begins with {name!r}")
        chosen += [each for each in named if each not in chosen]
    gone = [each for each in chosen if kept.remove(each.key)]
    _tell_removed(kept, gone)
    _tell_in_use([each for each in chosen if each not in gone])


def _idle_days(each: KeptEnvironment) -> float:
    return (time.time() - each.used_at) / _DAY_SECONDS


def _tell_removed(kept: KeptEnvironments, gone: list[KeptEnvironment]) -> None:
    size = sum(each.size_bytes for each in gone) / _GIB
    show_text(f"removed {len(gone)} environments, {size:.1f} GiB, from {kept.folder}")
    if any(("made by", "uv") in each.about for each in gone):
        show_text("uv keeps the packages themselves; `uv cache prune` or `uv cache clean` removes those, too")


def _tell_in_use(stayed: list[KeptEnvironment]) -> None:
    for each in stayed:
        complain(f"{each.key} is in use by another photometer and stays: {each.title}")
