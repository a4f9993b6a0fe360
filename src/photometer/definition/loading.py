"""Loads the suite that a user names: a Python file with BENCHMARKS, `module:name`, or the name of a shipped suite.

In comes the name, out comes a `Suite`. A suite's file is the user's own Python and is run here, as pytest would run it.
A label written twice in one dict is found in the file's text, because Python silently drops the first.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import pkgutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from photometer.definition.loaders import LOADERS, load_by_prefix
from photometer.definition.place import excerpt
from photometer.definition.suite import Suite
from photometer.errors import DefinitionError
from photometer.model.own_code import HOW_TO_ADD, running_author_code, searched_folders, source_text

DEFAULT_NAME = "BENCHMARKS"
PRELOAD_NAME = "PRELOAD"
_SHIPPED_PACKAGE = "photometer.suites"
_FORMS = (
    "Name a file with BENCHMARKS (my_suite.py), `package.module:NAME`, "
    f"a suite of another tool ({', '.join(f'{prefix}:PATH' for prefix in LOADERS)}), or a shipped suite: "
)


def shipped_suites() -> tuple[str, ...]:
    """Return the names of the suites that come with photometer."""
    package = importlib.import_module(_SHIPPED_PACKAGE)
    return tuple(sorted(item.name for item in pkgutil.iter_modules(package.__path__) if not item.name.startswith("_")))


def load_suite(spec: str) -> Suite:
    """Return the suite that `spec` names; `file.py:NAME` and `module:NAME` choose another variable than BENCHMARKS.

    `asv:PATH`, `operator_benchmark:PATH` and `triton:PATH` are suites of other tools.
    """
    theirs = load_by_prefix(spec)
    if theirs is not None:
        return theirs
    place, _, variable = spec.rpartition(":") if ":" in spec else (spec, "", "")
    variable = variable or DEFAULT_NAME
    if place.endswith(".py"):
        return _suite_in(_import_file(Path(place)), variable, Path(place).stem, spec)
    if place in shipped_suites():
        return _suite_in(_import_module(f"{_SHIPPED_PACKAGE}.{place}", spec), variable, place, spec)
    if (":" in spec or "." in place) and all(part.isidentifier() for part in place.split(".")):
        return _suite_in(_import_module(place, spec), variable, place, spec)
    raise _no_suite(spec, place)


def _no_suite(spec: str, place: str) -> DefinitionError:
    remedy = _FORMS + ", ".join(shipped_suites()) + "."
    mode = _mode_of(Path(place))
    if place and stat.S_ISDIR(mode):
        suites = sorted(file.name for file in Path(place).glob("*.py"))
        named = f"Name a file in it: {', '.join(suites[:8])}{', …' if suites[8:] else ''}." if suites else remedy
        return DefinitionError(f"{place} is a folder, not a suite", remedy=named)
    if place and mode:
        return DefinitionError(f"{place} is not a Python file (.py)", remedy=remedy)
    return DefinitionError(f"there is no suite called {spec!r}", remedy=remedy)


def _mode_of(path: Path) -> int:
    """Return the kind of a file, or 0 if there is none, or it cannot be a path (too long, with a NUL in it)."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _suite_in(module: ModuleType, variable: str, name: str, spec: str) -> Suite:
    value = getattr(module, variable, None)
    if isinstance(value, Suite):
        return value
    if value is None:
        raise DefinitionError(
            f"{spec} has no {variable}",
            remedy=f"Assign the suite's dict to {variable}, or name the variable: {spec}:NAME.",
        )
    if not isinstance(value, Mapping):
        raise DefinitionError(
            f"{variable} in {spec} is of type {type(value).__name__}",
            remedy="It must be a dict of labels to benchmarks (or further dicts), or a Suite.",
        )
    place = spec
    if module.__file__ is not None and module.__file__.endswith(".py"):
        source = Path(module.__file__)
        text = source_text(source)
        tree = ast.parse(text)
        _check_dict_keys(source, text, tree)
        place = _place_of(source, tree, variable)
    # The author's dicts may be of a class of their own.
    with running_author_code(place):
        preload = getattr(module, PRELOAD_NAME, ())
        suite = Suite.from_benchmarks(value, name=name, source=spec, place=place, preload=preload)
    if not suite.entries:
        raise DefinitionError(f"{variable} in {spec} is empty", remedy="Define at least one benchmark.")
    return suite


def _import_file(path: Path) -> ModuleType:
    if not stat.S_ISREG(_mode_of(path)):
        raise DefinitionError(f"there is no file {path}", remedy=_FORMS + ", ".join(shipped_suites()) + ".")
    source_text(path)
    # A name that no other module has, so that two suites called suite.py can be loaded in one process.
    digest = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = f"photometer_suite_{path.stem}_{digest}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise DefinitionError(f"{path} cannot be imported", remedy="Give a Python file (.py).")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        with running_author_code(str(path), beside=path.resolve().parent):
            found.loader.exec_module(module)
    except BaseException:
        # Half a module is none.
        sys.modules.pop(name, None)
        raise
    return module


def _import_module(name: str, spec: str) -> ModuleType:
    with running_author_code(spec):
        if not _is_there(name):
            raise DefinitionError(
                f"{spec}: there is no module {name}",
                log=searched_folders(),
                remedy=f"{HOW_TO_ADD} Or name the file instead.",
            )
        return importlib.import_module(name)


def _is_there(name: str) -> bool:
    """Whether the module exists. If not, the user mistyped it; a failing import inside it is another error."""
    if name in sys.modules:
        return True
    try:
        # Imports the packages above it.
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return False
        raise


def _place_of(source: Path, tree: ast.Module, variable: str) -> str:
    """Return the file and the line in which the variable was assigned last."""
    line = 1
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            while isinstance(target, (ast.Subscript, ast.Attribute)):
                target = target.value
            if isinstance(target, ast.Name) and target.id == variable:
                line = node.lineno
    return f"{source.name}:{line}"


def _check_dict_keys(path: Path, text: str, tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        seen: set[str] = set()
        for key in node.keys:
            if not isinstance(key, (ast.Constant, ast.Tuple)):
                continue
            label = ast.dump(key)
            if label in seen:
                width = (key.end_col_offset or 0) - key.col_offset
                raise DefinitionError(
                    f"{path.name}:{key.lineno}: the label {ast.unparse(key)} appears twice in one dict",
                    log=excerpt(text, key.lineno - 1, key.col_offset, max(1, width)),
                    remedy="Give each benchmark a label of its own; Python keeps only the last.",
                )
            seen.add(label)
