"""Benchmarks of Triton's `perf_report`: which a file has, and one of them made ready to run.

In: a module with functions that `triton.testing.perf_report` decorates. Out: their curves for a loader; for a set-up,
the callable that such a function passes to `do_bench`. Where triton is not installed, `triton_or_stand_in` provides
what a file needs to be imported; kernels cannot be launched then. Standard library only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NoReturn

_BENCHES = ("do_bench", "do_bench_cudagraph", "do_bench_proton", "do_bench_cudagraph_proton")


@dataclasses.dataclass(frozen=True)
class Curve:
    """One line of a plot: the function that measures it, and its points, each a dict of arguments."""

    function: str
    plot: str
    line: str
    points: tuple[dict[str, Any], ...]
    others: dict[str, Any]
    run: Callable[..., Any]


class Captured(BaseException):
    """A benchmark has called `do_bench`. No exception of the user's handlers, which would swallow it."""

    def __init__(self, run: Callable[[], Any], grad_to_none: Sequence[Any]) -> None:
        super().__init__()
        self.run = run
        self.grad_to_none = grad_to_none


class Benchmark:
    """The arguments of Triton's: one plot, with one line per value of `line_arg`."""

    def __init__(
        self,
        x_names: list[str],
        x_vals: list[Any],
        line_arg: str,
        line_vals: list[Any],
        line_names: list[str],
        plot_name: str,
        args: dict[str, Any],
        **how_it_looks: Any,
    ) -> None:
        self.x_names = x_names
        self.x_vals = x_vals
        self.line_arg = line_arg
        self.line_vals = line_vals
        self.line_names = line_names
        self.plot_name = plot_name
        self.args = args
        self.how_it_looks = how_it_looks


class Mark:
    """What `perf_report` makes of a function."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | list[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def run(self, *arguments: Any, **options: Any) -> None:
        """Do nothing: photometer runs the benchmarks."""


def perf_report(benchmarks: Benchmark | list[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Return a decorator that marks a function as a benchmark."""
    return lambda fn: Mark(fn, benchmarks)


def curves_of(module: ModuleType) -> Iterator[Curve]:
    """Yield every line of every plot of a module."""
    for name, mark in list(vars(module).items()):
        if type(mark).__name__ != "Mark" or not hasattr(mark, "benchmarks"):
            continue
        plots = mark.benchmarks if isinstance(mark.benchmarks, list | tuple) else [mark.benchmarks]
        for plot in plots:
            # A single value is that of all names.
            given = [each if isinstance(each, list | tuple) else [each] * len(plot.x_names) for each in plot.x_vals]
            points = tuple(dict(zip(plot.x_names, values, strict=True)) for values in given)
            for value, line in zip(plot.line_vals, plot.line_names, strict=True):
                yield Curve(name, plot.plot_name, str(line), points, {plot.line_arg: value, **plot.args}, mark.fn)


def prepared(module: str, function: str, plot: str, line: str, x: dict[str, Any], device: str) -> Callable[[], Any]:
    """Return what the benchmark passes to `do_bench` at a point, ready to be run on the device of that kind."""
    del device  # a file chooses its device itself; the name is for who reads the set-up
    loaded = imported(module)
    for curve in curves_of(loaded):
        if (curve.function, curve.plot, curve.line) == (function, plot, line):
            return _captured(loaded, curve, x)
    raise LookupError(f"{module} has no benchmark {function} {plot} {line}")


def imported(module: str) -> ModuleType:
    """Import a file whose plots are not drawn while it is imported."""
    with triton_or_stand_in():
        return importlib.import_module(module)


def _captured(module: ModuleType, curve: Curve, x: dict[str, Any]) -> Callable[[], Any]:
    try:
        with _capturing(module):
            curve.run(**x, **curve.others)
    except Captured as found:
        return _clearing(found.run, found.grad_to_none) if found.grad_to_none else found.run
    raise LookupError(f"{curve.function} does not call triton.testing.do_bench, so there is nothing to measure")


def _clearing(run: Callable[[], Any], tensors: Sequence[Any]) -> Callable[[], Any]:
    def run_cleared() -> Any:
        for tensor in tensors:
            tensor.grad = None
        return run()

    return run_cleared


@contextlib.contextmanager
def _capturing(module: ModuleType) -> Iterator[None]:
    """Put a function that only captures in place of `do_bench`, wherever the module finds it."""
    with triton_or_stand_in():
        testing: Any = importlib.import_module("triton.testing")
        originals = [getattr(testing, name) for name in _BENCHES if hasattr(testing, name)]
        # The module's own `triton` may be a stand-in of its import.
        places = [testing, module, getattr(vars(module).get("triton"), "testing", None), _testing_of(module)]
        replaced = [
            (place, name, value)
            for place in places
            if place is not None
            for name, value in list(vars(place).items())
            if name in _BENCHES or any(value is original for original in originals)
        ]
        for place, name, _ in replaced:
            setattr(place, name, _capture)
        try:
            yield
        finally:
            for place, name, value in replaced:
                setattr(place, name, value)


def _testing_of(module: ModuleType) -> Any:
    """Return `testing`, if the module has imported it by that name."""
    found = vars(module).get("testing")
    return found if isinstance(found, ModuleType) else None


def _capture(fn: Callable[[], Any], *arguments: Any, grad_to_none: Sequence[Any] | None = None, **how: Any) -> NoReturn:
    raise Captured(fn, tuple(grad_to_none or ()))


@contextlib.contextmanager
def triton_or_stand_in() -> Iterator[None]:
    """Provide `triton` for a block: the one that is installed, with plots that are not drawn, or a stand-in."""
    if importlib.util.find_spec("triton") is not None:
        mark: Any = importlib.import_module("triton.testing").Mark
        run, mark.run = mark.run, Mark.run
        try:
            yield
        finally:
            mark.run = run
        return
    sys.modules.update(_stand_ins())
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name == "triton" or name.startswith("triton.")]:
            del sys.modules[name]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every other module of triton: one that has any name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for a module of triton, and for no other."""
        if not fullname.startswith("triton."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module."""
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: it is complete."""


class _Missing:
    """Any name of triton, where it is not installed: it can be named and used as a decorator, and launches nothing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self._name}.{name}")

    def __getitem__(self, key: object) -> _Missing:
        return _Missing(f"{self._name}[…]")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self._name.endswith("]"):
            raise ImportError(f"{self._name}: triton is not installed, so that kernels cannot be launched")
        return _Missing(self._name)

    def __str__(self) -> str:
        return self._name


def _stand_ins() -> dict[str, ModuleType]:
    def do_bench(*arguments: Any, **options: Any) -> NoReturn:
        raise ImportError("triton is not installed: use photometer.testing.do_bench, or install triton")

    def cdiv(x: int, y: int) -> int:
        return -(-x // y)

    def next_power_of_2(n: int) -> int:
        return 1 << max(n - 1, 0).bit_length()

    own: dict[str, dict[str, Any]] = {
        "triton": {"cdiv": cdiv, "next_power_of_2": next_power_of_2},
        "triton.testing": {
            **dict.fromkeys(_BENCHES, do_bench),
            "perf_report": perf_report,
            "Benchmark": Benchmark,
            "Mark": Mark,
        },
        "triton.language": {},
        "triton.runtime": {},
    }
    modules = {name: _StandIn(name) for name in own}
    for name, contents in own.items():
        vars(modules[name]).update(contents)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, modules[name])
    return dict(modules)


class _StandIn(ModuleType):
    """A module of triton that is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self.__name__}.{name}")
