"""PyTorch's operator benchmarks: files that import `operator_benchmark` and register classes with configurations.

In: a file such as pt/add_test.py, or a folder of them. Out: a Suite with a benchmark per configuration; their tags
(`short`, `long`) and devices are ours, too. stand_ins/operator_benchmark.py takes the place of their module, here and
in the process that is measured.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.loaders.their_code import (
    STAND_INS,
    Gathered,
    TheirCode,
    can_be_swept,
    existing,
    place_of,
    their_benchmark,
    version_of,
)
from photometer.definition.suite import Suite, SuiteEntry
from photometer.errors import DefinitionError

if TYPE_CHECKING:
    from photometer.stand_ins.operator_benchmark import Case

_MODULE = "operator_benchmark"
_EXPECTED = "Name a file that registers benchmarks with op_bench.generate_pt_test(…), or a folder of …_test.py files."


def load_operator_benchmark(place: Path, spec: str) -> Suite:
    """Return the benchmarks that a file registers, or all …_test.py files of a folder."""
    existing(place, spec)
    is_folder = place.is_dir()
    code = TheirCode.at(place if is_folder or not _is_in_package(place) else place.resolve().parent)
    gathered = Gathered()
    with _stand_in() as cases, code.importing() as import_module:
        for file in sorted(place.glob("*_test.py")) if is_folder else [place]:
            name = code.name if code.top.is_file() else f"{code.name}.{file.stem}"
            try:
                import_module(name)
            except DefinitionError as error:
                if not is_folder:
                    raise
                gathered.notes.append(f"{file.name} is left out: {error.message}")
                continue
            above = (file.stem.removesuffix("_test"),) if is_folder else ()
            _gather(gathered, [case for case in cases if case.module == name], above)
    suite = gathered.suite(code, spec, expected=_EXPECTED)
    return suite if is_folder else dataclasses.replace(suite, name=place.stem)


def _is_in_package(file: Path) -> bool:
    """Return whether a file is part of the package that its folder is: `from pt import configs` says so, too."""
    folder = file.resolve().parent
    if (folder / "__init__.py").is_file():
        return True
    text = file.read_text(encoding="utf-8", errors="replace")
    return re.search(rf"^\s*(from|import) {re.escape(folder.name)}\b", text, re.MULTILINE) is not None


@contextlib.contextmanager
def _stand_in() -> Iterator[list[Case]]:
    """Yield the list that files register their cases in, while `import operator_benchmark` finds the stand-in."""
    held = sys.modules.pop(_MODULE, None)
    sys.path.insert(0, str(STAND_INS))
    try:
        stand_in: Any = importlib.import_module(_MODULE)
    finally:
        sys.path.remove(str(STAND_INS))
    try:
        yield stand_in.REGISTERED
    finally:
        del sys.modules[_MODULE]
        if held is not None:
            sys.modules[_MODULE] = held


@dataclasses.dataclass(frozen=True)
class _Group:
    """Cases that differ only in sizes: `labels` are the values that are not sizes."""

    key: str
    backward: bool
    tags: tuple[str, ...]
    devices: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    sizes: tuple[str, ...]


def _gather(gathered: Gathered, cases: list[Case], above: tuple[str, ...]) -> None:
    """Add the cases of a file; a configuration that is registered twice is one benchmark, with the tags of both."""
    same: dict[tuple[str, bool, str], list[Case]] = {}
    for case in cases:
        same.setdefault((case.key, case.backward, _printed(case.configuration)), []).append(case)
    groups: dict[_Group, list[Case]] = {}
    for alike in same.values():
        first = alike[0]
        swept = [name for name, value in first.configuration.items() if can_be_swept(name, [value])]
        others = [(name, _text(value)) for name, value in first.configuration.items() if name not in swept]
        tags, devices = dict.fromkeys(case.tags for case in alike), dict.fromkeys(case.device for case in alike)
        group = _Group(first.key, first.backward, tuple(tags), tuple(devices), tuple(others), tuple(swept))
        groups.setdefault(group, []).append(first)
    for group, members in groups.items():
        labels = tuple(f"{name}={text}" for name, text in group.labels)
        label = (*above, _operator(members[0]), *labels, *(("backward",) if group.backward else ()))
        gathered.entries.append(SuiteEntry(label, _benchmark(group, members)))


def _printed(configuration: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_text(value)}" for name, value in configuration.items())


def _text(value: object) -> str:
    return str(sys.modules[_MODULE].printed(value))


def _operator(case: Case) -> str:
    """Return the operator's name: that of the list, or what `init` would set, or else the class's."""
    if case.op is not None:
        return str(case.op["op_name"])
    named = _set_name(getattr(case.benchmark, "init", None))
    return named or case.benchmark.__name__.removesuffix("Benchmark") or case.benchmark.__name__


def _set_name(init: Any) -> str | None:
    """Return the literal in `self.set_module_name("add")`. To run `init` would make the inputs of every case here."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(init)))
    except (OSError, TypeError, SyntaxError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "set_module_name" and node.args:
            value = node.args[0]
            return str(value.value) if isinstance(value, ast.Constant) else None
    return None


def _benchmark(group: _Group, cases: list[Case]) -> GroupedBenchmark:
    case = cases[0]
    written = dict(group.labels)
    values = [
        f"{name!r}: {f'{_MODULE}.Written({written[name]!r})' if name in written else name}"
        for name in case.configuration
    ]
    direction = ", backward=True" if case.backward else ""
    setup = "\n".join(
        [
            f"# version {version_of(case.benchmark)}",
            f"import {_MODULE}",
            f"import {case.module}",
            f"photometer_run, photometer_inputs = {_MODULE}.prepared(",
            f"    {case.module!r}, {case.key!r}, {{{', '.join(values)}}}, str(device){direction}",
            ")",
        ]
    )
    stmt = "photometer_run()" if case.backward else "photometer_output = photometer_run(*photometer_inputs)"
    sizes = [{name: each.configuration[name] for name in group.sizes} for each in cases] if group.sizes else None
    return their_benchmark(stmt, setup, place_of(case.benchmark), devices=group.devices, sizes=sizes, tags=group.tags)
