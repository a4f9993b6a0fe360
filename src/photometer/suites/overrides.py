"""The suite `overrides`: what overriding costs a call into torch, as a ladder of rungs for several kinds of call.

    from photometer.suites.overrides import RUNGS, Rung, ladder
    mine = Rung("MyTensor", "SubTensor", "MyTensor({})", definitions="from my_package import MyTensor")
    BENCHMARKS = ladder([*RUNGS, mine])        # your own type on the ladder, in a suite of your own

A rung is one way to override a call, and names the rung it stands on: its cost is reported as the difference from that
one. The lowest is torch.Tensor with `__torch_function__` switched off, so that the cost of the mere possibility of
overriding is a rung, too. Labels are the call, then the rung; the tag `ladder:3>1` is rung 3, which stands on rung 1.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterable
from pathlib import Path

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.definition.grouped import GroupedBenchmark, Label
from photometer.errors import DefinitionError

__all__ = ["BENCHMARKS", "CALLS", "RUNGS", "Call", "Rung", "ladder"]

# The four types that torch's own bench.py had: `--classic` prints these.
CLASSIC = ("Tensor", "SubTensor", "WithTorchFunction", "SubWithTorchFunction")
# The position of an argument matters only if its type overrides; this plain type is measured for comparison.
_BASE_OF_POSITIONS = ("Tensor",)

_TYPES_FILE = Path(__file__).with_name("_override_types.py")
# Stands for a rung's argument; other braces in the wrapper's code stay as they are.
_ARGUMENT = "{}"
# The first operator under a dispatch mode makes torch import 800 modules, sympy among them: it takes minutes under
# Valgrind.
_IMPORTING_SECONDS = 900.0


@dataclasses.dataclass(frozen=True)
class Rung:
    """One way for a call to be overridden. `wrap` converts a plain tensor, written `{}`, to the rung's type.

    `definitions` define the names that it uses. `enter` runs last in the set-up, for example to enter a mode, which
    stays entered: every benchmark has its own process. `takes_methods` is False for a tensor-like, which lacks a
    tensor's methods, operators and attributes. Give `timeout_seconds` if the first call takes long.
    """

    name: str
    over: str | None = None
    wrap: str = _ARGUMENT
    definitions: str = ""
    enter: str = ""
    takes_methods: bool = True
    timeout_seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.name or any(character.isspace() for character in self.name):
            raise DefinitionError(f"a rung is called {self.name!r}", remedy="Give it a name without spaces.")
        if _ARGUMENT not in self.wrap:
            raise DefinitionError(
                f"the rung {self.name} wraps with {self.wrap!r}", remedy="Write {} for the tensor: 'MyTensor({})'."
            )

    @property
    def is_about_arguments(self) -> bool:
        """Whether it matters which argument has the rung's type."""
        return self.wrap != _ARGUMENT

    def wrapped(self, tensor: str) -> str:
        return self.wrap.replace(_ARGUMENT, tensor)


@functools.lru_cache(maxsize=1)
def _definitions_by_name() -> dict[str, str]:
    tree = ast.parse(_TYPES_FILE.read_text(encoding="utf-8"))
    texts = {}
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            _strip(node)
            texts[node.name] = ast.unparse(node)
    return texts


def _strip(node: ast.ClassDef | ast.FunctionDef) -> None:
    """Remove docstrings and annotations: the measured environment does not need them, and may lack `typing`'s names."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(inner, clean=False) is not None:
            inner.body = inner.body[1:] or [ast.Pass()]
        if isinstance(inner, ast.arg):
            inner.annotation = None
        if isinstance(inner, ast.FunctionDef):
            inner.returns = None


def text_of(*names: str) -> str:
    """Return the text of these classes and functions of _override_types.py, in this order."""
    return "\n".join(_definitions_by_name()[name] for name in names)


def _modes(depth: int) -> Rung:
    below = "Tensor" if depth == 1 else f"TorchFunctionMode-{depth - 1}"
    enter = "\n".join(f"mode_{level} = FunctionMode(); mode_{level}.__enter__()" for level in range(1, depth + 1))
    return Rung(f"TorchFunctionMode-{depth}", below, definitions=text_of("FunctionMode"), enter=enter)


RUNGS: tuple[Rung, ...] = (
    Rung("TorchFunctionOff", enter="off = torch._C.DisableTorchFunction(); off.__enter__()"),
    Rung("Tensor", "TorchFunctionOff"),
    Rung("SubTensor", "Tensor", "{}.as_subclass(SubTensor)", text_of("SubTensor")),
    Rung("WithTorchFunction", "Tensor", "WithTorchFunction({})", text_of("plain_of", "WithTorchFunction"),
         takes_methods=False),
    Rung("SubWithTorchFunction", "SubTensor", "{}.as_subclass(SubWithTorchFunction)", text_of("SubWithTorchFunction")),
    Rung("DisabledTorchFunction", "Tensor", "{}.as_subclass(DisabledTorchFunction)", text_of("DisabledTorchFunction")),
    _modes(1),
    _modes(2),
    _modes(3),
    Rung("TorchDispatchSubclass", "DisabledTorchFunction", "TorchDispatchSubclass({})",
         text_of("plain_of", "TorchDispatchSubclass")),
    Rung("TorchDispatchMode", "Tensor", definitions=text_of("DispatchMode"),
         enter="mode = DispatchMode(); mode.__enter__()", timeout_seconds=_IMPORTING_SECONDS),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Call:
    """One way to call into torch, as text. `label` comes before the rung's name.

    `x`, `y` and further names in `own` have the rung's type, those in `plain` are always torch.Tensor. `needs_methods`
    says that the object itself must have the method, operator or attribute.
    """

    label: tuple[str, ...]
    stmt: str
    own: tuple[str, ...] = ("x", "y")
    plain: tuple[str, ...] = ()
    shapes: tuple[tuple[str, str], ...] = ()
    before: str = ""
    needs_methods: bool = False
    is_about_position: bool = False

    def shape_of(self, name: str) -> str:
        # Two elements: the work itself takes almost no time compared with the call.
        return dict(self.shapes).get(name, "(2,)")


_NORMALISED = (("x", "(2, 2)"), ("p", "(2, 2)"))
_BATCH_NORM = "z = torch.batch_norm({}, False, 0.1, 1e-05, False)"
_POSITION = "argument position"

CALLS: tuple[Call, ...] = (
    Call(("torch.add",), "z = torch.add(x, y)"),
    Call(("method",), "z = x.add(y)", needs_methods=True),
    Call(("operator",), "z = x + y", needs_methods=True),
    Call(("attribute",), "z = x.shape", own=("x",), needs_methods=True),
    Call(("torch.cat",), "z = torch.cat(pair)", before="pair = [x, y]"),
    Call(
        ("many arguments",),
        _BATCH_NORM.format("x, weight, bias, mean, variance"),
        own=("x", "weight", "bias", "mean", "variance"),
        shapes=_NORMALISED,
    ),
    Call(("not overridable",), "z = torch.is_tensor(x)", own=("x",)),
    Call((_POSITION, "first"), "z = torch.add(x, p)", own=("x",), plain=("p",), is_about_position=True),
    Call((_POSITION, "second"), "z = torch.add(p, x)", own=("x",), plain=("p",), is_about_position=True),
    Call((_POSITION, "keyword"), "z = torch.add(p, other=x)", own=("x",), plain=("p",), is_about_position=True),
    Call(
        (_POSITION, "last in a list of four"),
        "z = torch.cat(four)",
        own=("x",),
        plain=("p",),
        before="four = [p, p, p, x]",
        is_about_position=True,
    ),
    Call(
        (_POSITION, "fifth of many"),
        _BATCH_NORM.format("p, weight, bias, mean, variance"),
        own=("variance",),
        plain=("p", "weight", "bias", "mean"),
        shapes=_NORMALISED,
        is_about_position=True,
    ),
)


def ladder(rungs: Iterable[Rung] = RUNGS, calls: Iterable[Call] = CALLS) -> dict[Label, GroupedBenchmark]:
    """Return a benchmark for every call on every rung that supports it."""
    rungs = tuple(rungs)
    names = [rung.name for rung in rungs]
    for rung in rungs:
        if rung.over is not None and rung.over not in names:
            raise DefinitionError(
                f"the rung {rung.name} stands on {rung.over}, which does not exist",
                remedy=f"Add it, or stand on one of {', '.join(names)}.",
            )
    return {
        (*call.label, rung.name): _benchmark(call, rung, _place(rung, names))
        for call in calls
        for rung in rungs
        if (rung.takes_methods or not call.needs_methods)
        and (rung.is_about_arguments or rung.name in _BASE_OF_POSITIONS or not call.is_about_position)
    }


def _place(rung: Rung, names: list[str]) -> str:
    """Return the tag. It has numbers, not names: -k with a rung's name must not select those that stand on it."""
    below = "" if rung.over is None else f">{names.index(rung.over)}"
    return f"ladder:{names.index(rung.name)}{below}"


def _benchmark(call: Call, rung: Rung, place: str) -> GroupedBenchmark:
    lines = [rung.definitions]
    lines += [f"{name} = torch.ones({call.shape_of(name)})" for name in call.plain]
    lines += [f"{name} = {rung.wrapped(f'torch.ones({call.shape_of(name)})')}" for name in call.own]
    lines += [call.before, rung.enter]
    tags = [place]
    if call.label == ("torch.add",):
        tags += ["quick", *(["classic"] if rung.name in CLASSIC else [])]
    setup = GroupedSetup(py_setup="\n".join(line for line in lines if line))
    return GroupedStmts(call.stmt, setup=setup, tags=tuple(tags), timeout_seconds=rung.timeout_seconds)


BENCHMARKS = ladder()
