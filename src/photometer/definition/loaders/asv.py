"""asv's suites: a folder of modules with functions and classes called time_…, track_….

In: the folder, one file of it, or a folder with asv.conf.json. Out: a Suite with a benchmark per function and
combination of parameters. A track_… function is a benchmark whose returned number is a metric. stand_ins/
photometer_asv.py finds them here and makes them ready in the process that is measured.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

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
from photometer.stand_ins.photometer_asv import Found, Point, benchmarks_of

CONFIGURATION = "asv.conf.json"
# asv's own default.
DEFAULT_FOLDER = "benchmarks"
METRIC = "tracked"
_EXPECTED = "Name a folder of asv benchmarks: modules with functions or methods called time_… or track_…."
_NOT_MEASURED = {
    "timeraw": "timeraw_… returns code for a fresh interpreter; give it to TimerArgs in a suite of yours",
    "mem": "mem_… asks for the size of an object; `photometer run --memory` measures what a run allocates",
    "peakmem": "peakmem_… asks for the peak of a process; `photometer run --memory` measures the peak of a run",
}


def load_asv(place: Path, spec: str) -> Suite:
    """Return the benchmarks of an asv suite."""
    top = _top(existing(place, spec), spec)
    code = TheirCode.at(top)
    gathered = Gathered()
    with _marks(), code.importing() as import_module:
        for name in _module_names(code):
            try:
                found = list(benchmarks_of(import_module(name)))
            except DefinitionError as error:
                if code.top.is_file():
                    raise
                gathered.notes.append(f"{name} is left out: {error.message}")
                continue
            _gather(gathered, code, name, found)
    return gathered.suite(code, spec, expected=_EXPECTED)


@contextlib.contextmanager
def _marks() -> Iterator[None]:
    """Let `import asv_runner.benchmarks.mark` find the stand-in if asv_runner is not installed."""
    sys.path.append(str(STAND_INS))
    try:
        yield
    finally:
        sys.path.remove(str(STAND_INS))
        for name, module in list(sys.modules.items()):
            is_mark = name.partition(".")[0] == "asv_runner"
            if is_mark and str(getattr(module, "__file__", "")).startswith(str(STAND_INS)):
                del sys.modules[name]


def _top(place: Path, spec: str) -> Path:
    """Return the file or folder of benchmarks; for a project's folder, the one that its configuration names."""
    if place.is_file() and place.suffix == ".py":
        return place
    configuration = place if place.is_file() else place / CONFIGURATION
    if configuration.is_file():
        # It is JSON with comments.
        lines = [line for line in configuration.read_text(encoding="utf-8").splitlines() if "//" not in line[:3]]
        named = re.search(r'^\s*"benchmark_dir"\s*:\s*"([^"]+)"', "\n".join(lines), re.MULTILINE)
        return existing(configuration.parent / (named.group(1) if named else DEFAULT_FOLDER), spec)
    if place.is_file():
        raise DefinitionError(f"{place} is not a Python file", remedy=_EXPECTED)
    return place


def _module_names(code: TheirCode) -> Iterator[str]:
    """Yield the names of all modules, the package's own first; folders inside are packages if they say so."""
    yield code.name
    if code.top.is_dir():
        yield from _inside(code.top, code.name)


def _inside(folder: Path, package: str) -> Iterator[str]:
    for entry in sorted(folder.iterdir()):
        name = f"{package}.{entry.stem}"
        if entry.suffix == ".py" and entry.stem.isidentifier() and not entry.stem.startswith("__"):
            yield name
        elif entry.is_dir() and (entry / "__init__.py").is_file():
            yield name
            yield from _inside(entry, name)


def _gather(gathered: Gathered, code: TheirCode, module: str, found: list[Found]) -> None:
    """Add the benchmarks of a module; report what is left out once per module and reason."""
    left_out: dict[str, list[str]] = {}
    for each in found:
        reason = _reason_against(each)
        if reason:
            left_out.setdefault(reason, []).append(each.name)
            continue
        gathered.entries.extend(_entries(code, module, each))
    for reason, names in left_out.items():
        few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
        gathered.notes.append(f"{module}: {few} left out: {reason}")


def _reason_against(found: Found) -> str | None:
    if found.kind in _NOT_MEASURED:
        return _NOT_MEASURED[found.kind]
    if found.attribute("number", 0) and found.setups and found.kind == "time":
        return (
            "`number` asks for a new setup after so many runs, but photometer sets up once per process; "
            "delete `number` if runs do not change what setup makes"
        )
    return None


def _entries(code: TheirCode, module: str, found: Found) -> Iterator[SuiteEntry]:
    """Yield a benchmark for each combination of the parameters that are not sizes; the sizes are its sweep."""
    inside = module.split(".")[1:] or [code.name]
    names = found.parameter_names
    swept = [
        can_be_swept(name, axis) and names.count(name) == 1 for name, axis in zip(names, found.axes(), strict=True)
    ]
    groups: dict[tuple[str, ...], list[Point]] = {}
    for point in found.points():
        texts = tuple(text for text, is_size in zip(point.texts, swept, strict=True) if not is_size)
        groups.setdefault(texts, []).append(point)
    named = [name for name, is_size in zip(names, swept, strict=True) if not is_size]
    timeout = found.attribute("timeout")
    for texts, points in groups.items():
        labels = [f"{name}={text}" for name, text in zip(named, texts, strict=True)]
        sizes = [
            {name: value for name, value, is_size in zip(names, point.values, swept, strict=True) if is_size}
            for point in points
        ]
        yield SuiteEntry(
            (*inside, *found.name.split("."), *labels),
            their_benchmark(
                _statement(found),
                _setup(module, found, points[0], swept),
                place_of(found.function),
                sizes=sizes if any(swept) else None,
                tags=(found.kind,),
                timeout_seconds=float(timeout) if timeout else None,
                metrics=(METRIC,) if found.kind == "track" else (),
                instructions=found.kind != "track",
            ),
        )


def _statement(found: Found) -> str:
    assigned = f"{METRIC} = " if found.kind == "track" else ""
    has_arguments = bool(found.axes()) or found.attribute("setup_cache") is not None
    return f"{assigned}photometer_run({'*photometer_arguments' if has_arguments else ''})"


def _setup(module: str, found: Found, point: Point, swept: list[bool]) -> str:
    """Return the set-up. The version in it makes a benchmark whose code has changed another one, as in asv."""
    setup_cache = found.attribute("setup_cache")
    version = found.attribute("version") or version_of(found.function, *found.setups, setup_cache)
    written = [
        name if is_size else f"photometer_asv.Written({text!r})"
        for name, text, is_size in zip(found.parameter_names, point.texts, swept, strict=True)
    ]
    return "\n".join(
        [
            f"# version {version!s}".splitlines()[0],
            "import photometer_asv",
            f"import {module}",
            "photometer_run, photometer_arguments = photometer_asv.prepared(",
            f"    {', '.join([repr(module), repr(found.name), *written])}",
            ")",
        ]
    )
