"""Triton's benchmarks: files with functions that `triton.testing.perf_report` decorates.

In: such a file. Out: a Suite with a benchmark per plot, point and line, which measures the callable that the function
passes to `do_bench`. Listing needs neither triton nor an accelerator, unless the file itself does while it is loaded.
stand_ins/photometer_triton.py finds the plots here and captures the callable in the process that is measured.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.loaders.their_code import (
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
from photometer.model.own_code import running_author_code, source_text
from photometer.stand_ins.photometer_triton import Curve, curves_of, triton_or_stand_in

_EXPECTED = "Name a file with functions that @triton.testing.perf_report(triton.testing.Benchmark(…)) decorates."
# What says that a file's tensors are on an accelerator; torch calls AMD's `cuda`, too.
_DEVICE_FILES = ("/dev/nvidia0", "/dev/kfd", "/dev/dri", "/dev/accel")
_ACCELERATORS = {"cuda": r"\bcuda\b|get_active_torch_device|triton\.jit", "xpu": r"\bxpu\b"}
# What a Benchmark's lists must have in common.
_LENGTHS = "Give as many line_names as line_vals, and in each of x_vals as many values as there are x_names."


def load_triton(place: Path, spec: str) -> Suite:
    """Return the plots of a file as benchmarks."""
    if existing(place, spec).is_dir():
        raise DefinitionError(f"{spec}: {place} is a folder", remedy=_EXPECTED)
    code = TheirCode.at(place)
    gathered = Gathered()
    text = source_text(place)
    device = _device(text)
    with triton_or_stand_in(), code.importing() as import_module:
        if device == "cpu" or _has_accelerator():
            module = import_module(code.name)
        else:
            module, unable = _run_as_far_as_possible(code, text)
            gathered.notes.extend(unable)
        try:
            curves = list(curves_of(module))
        except (TypeError, ValueError, AttributeError) as error:
            # Triton looks at these only when a plot is drawn.
            raise DefinitionError(
                f"{spec}: a perf_report is not as triton needs it: {error}", remedy=_LENGTHS
            ) from error
        for curve in curves:
            gathered.entries.extend(_entries(code, curve, device))
    return gathered.suite(code, spec, expected=_EXPECTED)


def _device(text: str) -> str:
    """Return the kind of device that a file uses, by its text: the file itself chooses when it runs."""
    return next((device for device, words in _ACCELERATORS.items() if re.search(words, text)), "cpu")


def _has_accelerator() -> bool:
    return any(Path(file).exists() for file in _DEVICE_FILES)


def _run_as_far_as_possible(code: TheirCode, text: str) -> tuple[ModuleType, list[str]]:
    """Return a module of the statements of a file that run without an accelerator, and a note on the others.

    Such files often try their kernels while they are loaded. Their plots are known without that.
    """
    module = ModuleType(code.name)
    module.__file__ = str(code.top)
    sys.modules[code.name] = module
    failed: list[tuple[int, str]] = []
    with running_author_code(str(code.top), beside=code.top.parent):
        for node in ast.parse(text, str(code.top)).body:
            statement = compile(ast.Module([node], type_ignores=[]), str(code.top), "exec")
            try:
                exec(statement, vars(module))
            except ModuleNotFoundError:
                raise
            except Exception as error:
                failed.append((node.lineno, f"{type(error).__name__}: {error}".splitlines()[0]))
    if not failed:
        return module, []
    line, reason = failed[0]
    return module, [
        f"{code.top.name}: {len(failed)} of its statements could not be run, as there is no accelerator here; "
        f"the first is at line {line} ({reason})"
    ]


def _entries(code: TheirCode, curve: Curve, device: str) -> Iterator[SuiteEntry]:
    """Yield the line as one benchmark that is swept over its points; or one per point, if these are not sizes."""
    label = (curve.function, curve.plot, curve.line)
    names = list(curve.points[0]) if curve.points else []
    if names and all(can_be_swept(name, [point[name]]) for point in curve.points for name in names):
        x = f"{{{', '.join(f'{name!r}: {name}' for name in names)}}}"
        yield SuiteEntry(label, _benchmark(code, curve, device, x, list(curve.points)))
        return
    for point in curve.points:
        words = tuple(f"{name}={value}" for name, value in point.items())
        yield SuiteEntry((*label, *words), _benchmark(code, curve, device, repr(point), None))


def _benchmark(
    code: TheirCode, curve: Curve, device: str, x: str, sizes: list[dict[str, Any]] | None
) -> GroupedBenchmark:
    setup = "\n".join(
        [
            f"# version {version_of(curve.run)}",
            "import photometer_triton",
            "photometer_run = photometer_triton.prepared(",
            f"    {code.name!r}, {curve.function!r}, {curve.plot!r}, {curve.line!r}, {x}, str(device)",
            ")",
        ]
    )
    return their_benchmark("photometer_run()", setup, place_of(curve.run), devices=(device,), sizes=sizes)
