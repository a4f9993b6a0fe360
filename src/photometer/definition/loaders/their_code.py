"""A user's module that set-ups import: its folder, its name, and its import here.

In: a file or a package folder. Out: a `TheirCode`: the name by which every process imports it, and the folder that
makes that possible. The folder holds only a link to the code, so that it can be first on the path of every side
of a comparison without bringing the rest of the user's working tree along.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import importlib.util
import inspect
import keyword
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from photometer.definition.grouped import GroupedBenchmark, GroupedSetup, GroupedStmts
from photometer.definition.signature import RESERVED_NAMES, RESERVED_PREFIX
from photometer.definition.suite import Suite, SuiteEntry, content_hash
from photometer.errors import DefinitionError
from photometer.model.code_folder import cache_root, make_code_folder
from photometer.model.own_code import running_author_code, source_text

STAND_INS = Path(__file__).parents[2] / "stand_ins"
# Of the path of a link's target: two projects do not meet, and the same one has the same folder each time.
_DIGITS = 12
# A version tells the code of a benchmark from an earlier one of the same name.
_VERSION_DIGITS = 12


@dataclasses.dataclass(frozen=True)
class TheirCode:
    """The file or package at `top` is imported as `name`."""

    top: Path
    name: str

    @classmethod
    def at(cls, top: Path) -> TheirCode:
        """Return the code of a file or package folder, under a name that can be imported."""
        top = top.resolve()
        name = re.sub(r"\W", "_", top.stem if top.suffix == ".py" else top.name)
        name = f"_{name}" if not name or name[0].isdigit() else name
        if name in sys.stdlib_module_names or name == "torch":
            raise DefinitionError(
                f"{top.name}: a module called {name} would hide Python's own or torch", remedy="Rename it."
            )
        return cls(top, name)

    def folders(self) -> tuple[str, ...]:
        """Return the folders that must be first on the path to import it: stand-ins, and a folder with a link."""
        digest = hashlib.sha256(str(self.top).encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
        root = cache_root()
        folder = make_code_folder(root / "suites" / digest, below=root)
        link = folder / (f"{self.name}.py" if self.top.is_file() else self.name)
        if not link.is_symlink():
            # Another process may be making it, too.
            with contextlib.suppress(FileExistsError):
                link.symlink_to(self.top)
        return str(STAND_INS), str(folder)

    @contextlib.contextmanager
    def importing(self) -> Iterator[Callable[[str], ModuleType]]:
        """Yield a function that imports a module of it here. Afterwards this process has forgotten its modules."""
        held = {name: module for name, module in sys.modules.items() if self._is_own(name)}
        for name in held:
            del sys.modules[name]
        try:
            yield self._import
        finally:
            for name in [name for name in sys.modules if self._is_own(name)]:
                del sys.modules[name]
            sys.modules.update(held)

    def _is_own(self, name: str) -> bool:
        return name == self.name or name.startswith(f"{self.name}.")

    def _import(self, name: str) -> ModuleType:
        if self.top.is_file():
            return self._import_file()
        with running_author_code(name, beside=self.top.parent):
            importlib.invalidate_caches()
            return importlib.import_module(name)

    def _import_file(self) -> ModuleType:
        source_text(self.top)
        found = importlib.util.spec_from_file_location(self.name, self.top)
        if found is None or found.loader is None:
            raise DefinitionError(f"{self.top} cannot be imported", remedy="Give a Python file (.py).")
        module = importlib.util.module_from_spec(found)
        sys.modules[self.name] = module
        with running_author_code(str(self.top), beside=self.top.parent):
            found.loader.exec_module(module)
        return module


def place_of(code: Any) -> str:
    """Return `file.py:line` of a function or class."""
    try:
        lines = inspect.getsourcelines(code)
        return f"{Path(inspect.getsourcefile(code) or '?').name}:{lines[1]}"
    except (OSError, TypeError):
        return ""


def version_of(*code: Any) -> str:
    """Return a short hash of the text of functions and classes; those without text are left out."""
    texts = []
    for each in code:
        with contextlib.suppress(OSError, TypeError):
            texts.append(inspect.getsource(each))
    return content_hash(texts)[:_VERSION_DIGITS]


def can_be_swept(name: str, values: Sequence[Any]) -> bool:
    """Return whether values are sizes of a sweep: each can be written as code, and the name is free for a variable."""
    usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith(RESERVED_PREFIX)
    return (
        usable
        and name not in RESERVED_NAMES | {"device", "torch"}
        and all(_is_plain(value) for value in values)
        and len(set(values)) == len(values)
    )


def _is_plain(value: object) -> bool:
    if type(value) is tuple:
        return all(type(item) is int for item in value)
    return type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


def their_benchmark(stmt: str, setup: str, place: str, **options: Any) -> GroupedBenchmark:
    """Return a benchmark of set-up and statement; mistakes in it are reported at `place`."""
    made = GroupedStmts(stmt, setup=GroupedSetup(py_setup=setup), **options)
    return dataclasses.replace(made, defined_at=place or made.defined_at)


@dataclasses.dataclass(frozen=True)
class Gathered:
    """The result of a loader: entries, and a line for each thing that was left out."""

    entries: list[SuiteEntry] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def suite(self, code: TheirCode, spec: str, *, expected: str) -> Suite:
        """Return the suite; raise an error that says what was `expected` if it has no benchmarks."""
        if not self.entries:
            raise DefinitionError(
                f"{spec} has no benchmarks that can be measured", log="\n".join(self.notes) or None, remedy=expected
            )
        return Suite(
            code.name, tuple(self.entries), spec, folders=code.folders(), notes=tuple(dict.fromkeys(self.notes))
        )


def existing(place: Path, spec: str) -> Path:
    """Return the file or folder; raise an error if there is none."""
    if not place.exists():
        raise DefinitionError(f"{spec}: there is no file or folder {place}", remedy="Name a file or folder.")
    return place
