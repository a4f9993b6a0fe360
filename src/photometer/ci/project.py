"""ProjectSettings: `[tool.photometer]` in a project's pyproject.toml. Options of a command take precedence.

    [tool.photometer]
    suite = "benchmarks/suite.py"      default suite of run, check, list and compare
    base = "git:merge-base:main"      what compare measures the working tree against
    fail-on = ["slower:2%", "memory:0"]
    keep = 0                          how many seconds servers stay warm in a terminal (600), 0 for not at all

    [[tool.photometer.thresholds]]     for some of the benchmarks, by tag or name
    tag = "noisy"
    margin = "2%"
    fail-on = "slower:10%"

Paths are relative to the file. Unknown keys are errors: a misspelt threshold must not be ignored.
"""

from __future__ import annotations

import dataclasses
import difflib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from photometer.analysis.gate import Threshold
from photometer.errors import DefinitionError
from photometer.model.fail_rules import FailRule, parse_rules, parse_share

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "pyproject.toml"
SECTION = "photometer"


@dataclasses.dataclass(frozen=True)
class ProjectSettings:
    """`file` is None if no pyproject.toml above the folder has the section. Other fields are None if not set."""

    file: Path | None = None
    suite: str | None = None
    base: str | None = None
    python: str | None = None
    install: str | None = None
    store: str | None = None
    accepted: str | None = None
    margin: float | None = None
    budget: float | None = None
    limit: float | None = None
    keep: float | None = None
    rules: tuple[FailRule, ...] | None = None
    tags: tuple[str, ...] = ()
    thresholds: tuple[Threshold, ...] = ()

    @property
    def margin_by_tag(self) -> dict[str, float]:
        return {each.tag: each.margin for each in self.thresholds if each.tag and each.margin is not None}

    @property
    def margin_by_benchmark(self) -> tuple[tuple[str, float], ...]:
        return tuple(
            (each.benchmark, each.margin) for each in self.thresholds if not each.tag and each.margin is not None
        )


def read_project(folder: Path | None = None) -> ProjectSettings:
    """Return the settings of the nearest pyproject.toml with the section, from the folder (default: here) upwards."""
    start = (folder or Path.cwd()).resolve()
    for place in (start, *start.parents):
        file = place / FILE_NAME
        if file.is_file():
            section = _section(file)
            if section is not None:
                return _settings(file, section)
        if (place / ".git").exists():
            # Anything above is another project.
            break
    return ProjectSettings()


def _section(file: Path) -> Mapping[str, Any] | None:
    try:
        with file.open("rb") as stream:
            content = tomllib.load(stream)
    except (OSError, ValueError, RecursionError) as error:
        raise DefinitionError(f"{file} cannot be read: {error}", remedy="Correct the file.") from error
    tool = content.get("tool", {})
    section = tool.get(SECTION) if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise DefinitionError(f"{file}: tool.{SECTION} is not a table", remedy=f"Write [tool.{SECTION}].")
    return section


def _settings(file: Path, section: Mapping[str, Any]) -> ProjectSettings:
    read = _Table(file, f"[tool.{SECTION}]", section)
    entries = section.get("thresholds", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise read.wrong("thresholds", f"tables: [[tool.{SECTION}.thresholds]]")
    settings = ProjectSettings(
        file=file,
        suite=_from(file.parent, read.text("suite")),
        base=read.text("base"),
        python=_from(file.parent, read.text("python")),
        install=read.text("install"),
        store=_from(file.parent, read.text("store"), even_new=True),
        accepted=_from(file.parent, read.text("accepted"), even_new=True),
        margin=read.share("margin"),
        budget=read.seconds("budget"),
        limit=read.seconds("limit"),
        keep=read.seconds("keep", or_none=True),
        rules=read.rules("fail-on"),
        tags=read.texts("tags"),
        thresholds=tuple(_threshold(file, entry) for entry in entries),
    )
    read.refuse_unknown("thresholds")
    return settings


def _threshold(file: Path, entry: Mapping[str, Any]) -> Threshold:
    read = _Table(file, f"[[tool.{SECTION}.thresholds]]", entry)
    found = Threshold(read.text("benchmark") or "", read.text("tag") or "", read.share("margin"), read.rules("fail-on"))
    read.refuse_unknown()
    if bool(found.benchmark) == bool(found.tag):
        raise DefinitionError(f"{file}: {read.name} needs a benchmark or a tag", remedy="Give one of the two.")
    return found


def _from(folder: Path, text: str | None, *, even_new: bool = False) -> str | None:
    """Return a project-relative path joined to its folder; names, modules, URLs and versions stay unchanged."""
    if text is None or "://" in text or Path(text).is_absolute():
        return text
    path, colon, variable = text.partition(":")
    found = folder / path
    try:
        is_there = found.exists()
    except (OSError, ValueError):
        # Too long for a path: whoever uses it says what is wrong.
        is_there = False
    is_path = is_there or (even_new and text != "none")
    return f"{found}{colon}{variable}" if is_path else text


class _Table:
    """One table of the file: reads values by key and type, and remembers which keys were read."""

    def __init__(self, file: Path, name: str, content: Mapping[str, Any]) -> None:
        self.name = name
        self._file = file
        self._content = content
        self._known: list[str] = []

    def text(self, key: str) -> str | None:
        value = self._take(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.wrong(key, "a string")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._take(key)
        values = [value] if isinstance(value, str) else value or []
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise self.wrong(key, "a string or a list of strings")
        return tuple(values)

    def seconds(self, key: str, *, or_none: bool = False) -> float | None:
        """Return seconds; with `or_none`, 0 is allowed, too."""
        value = self._take(key)
        if value is None or (or_none and value == 0 and not isinstance(value, bool)):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
            raise self.wrong(key, "seconds, 0 for none" if or_none else "seconds, greater than 0")
        return float(value)

    def share(self, key: str) -> float | None:
        value = self._take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.wrong(key, 'a share: 0.01 or "1%"')
        try:
            return parse_share(value)
        except DefinitionError as error:
            raise self.wrong(key, f"a share: {error.message}") from error

    def rules(self, key: str) -> tuple[FailRule, ...] | None:
        texts = self.texts(key)
        if not texts:
            return None
        try:
            return parse_rules(texts)
        except DefinitionError as error:
            raise DefinitionError(
                f"{self._file}: {key} in {self.name}: {error.message}", remedy=error.remedy
            ) from error

    def refuse_unknown(self, *others: str) -> None:
        for key in self._content:
            if key not in (*self._known, *others):
                near = difflib.get_close_matches(key, [*self._known, *others], 1)
                remedy = (
                    f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(sorted((*self._known, *others)))}."
                )
                raise DefinitionError(f"{self._file}: {self.name} has no key {key!r}", remedy=remedy)

    def wrong(self, key: str, wanted: str) -> DefinitionError:
        return DefinitionError(
            f"{self._file}: {key} in {self.name} is {self._content.get(key)!r}", remedy=f"Give {wanted}."
        )

    def _take(self, key: str) -> Any:
        self._known.append(key)
        return self._content.get(key)
