"""Loads the suite that a user names: a Python file with BENCHMARKS, `module:name`, or the name of a shipped suite.

In comes the name, out comes a `Suite`. A suite's file is the user's own Python and is run here, as pytest would run it.
A label written twice in one dict is found in the file's text, because Python silently drops the first.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from photometer.definition.place import excerpt
from photometer.definition.suite import Suite
from photometer.errors import DefinitionError

DEFAULT_NAME = "BENCHMARKS"
_SHIPPED_PACKAGE = "photometer.suites"
_FORMS = "Name a file with BENCHMARKS (my_suite.py), `package.module:NAME`, or a shipped suite: "


def shipped_suites() -> tuple[str, ...]:
    """Return the names of the suites that come with photometer."""
    package = importlib.import_module(_SHIPPED_PACKAGE)
    return tuple(sorted(item.name for item in pkgutil.iter_modules(package.__path__) if not item.name.startswith("_")))


def load_suite(spec: str) -> Suite:
    """Return the suite that `spec` names; `file.py:NAME` and `module:NAME` choose another variable than BENCHMARKS."""
    place, _, variable = spec.rpartition(":") if ":" in spec else (spec, "", "")
    variable = variable or DEFAULT_NAME
    if place.endswith(".py"):
        return _suite_in(_import_file(Path(place)), variable, Path(place).stem, spec)
    if place in shipped_suites():
        return _suite_in(_import_module(f"{_SHIPPED_PACKAGE}.{place}", spec), variable, place, spec)
    if ":" in spec or "." in place:
        return _suite_in(_import_module(place, spec), variable, place, spec)
    raise DefinitionError(f"there is no suite called {spec!r}", remedy=_FORMS + ", ".join(shipped_suites()) + ".")


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
    source = module.__file__
    if source is not None and source.endswith(".py"):
        _check_dict_keys(Path(source))
    suite = Suite.from_benchmarks(value, name=name, source=spec)
    if not suite.entries:
        raise DefinitionError(f"{variable} in {spec} is empty", remedy="Define at least one benchmark.")
    return suite


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise DefinitionError(f"there is no file {path}", remedy=_FORMS + ", ".join(shipped_suites()) + ".")
    # A name that no other module has, so that two suites called suite.py can be loaded in one process.
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    name = f"photometer_suite_{path.stem}_{digest}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise DefinitionError(f"{path} cannot be imported", remedy="Give a Python file (.py).")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    with _importing(str(path), beside=path.resolve().parent):
        found.loader.exec_module(module)
    return module


def _import_module(name: str, spec: str) -> ModuleType:
    if name not in sys.modules:
        # A missing module is a typing mistake of the user; an import that fails inside it is a mistake of the suite.
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise DefinitionError(
                f"{spec}: there is no module {name}",
                remedy="Make it importable from here, or name the file instead.",
            )
    with _importing(spec):
        return importlib.import_module(name)


@contextlib.contextmanager
def _importing(shown: str, beside: Path | None = None) -> Iterator[None]:
    """Run the suite's own code with its folder importable; an error is shown with the suite's own lines.

    No bytecode is written: the suite may be in a working tree of the user.
    """
    wrote_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    if beside is not None:
        sys.path.insert(0, str(beside))
    try:
        yield
    except DefinitionError:
        raise
    except Exception as error:
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
        trace = "".join([*traceback.format_list(own), *traceback.format_exception_only(type(error), error)])
        raise DefinitionError(
            f"{shown} raised while it was loaded: {type(error).__name__}: {error}",
            log=trace,
            remedy="Correct the suite.",
        ) from error
    finally:
        sys.dont_write_bytecode = wrote_bytecode
        if beside is not None:
            sys.path.remove(str(beside))


def _is_machinery(filename: str) -> bool:
    return filename.startswith("<frozen importlib") or filename in (__file__, contextlib.__file__)


def _check_dict_keys(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
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
