"""Rung: one way for a call to be overridden, as text for a set-up; and RUNGS, the ladder that is shipped.

A rung names the one it stands on: what it costs is told as "plus so much over that one". The ground is torch.Tensor
with `__torch_function__` switched off, so that what the mere possibility of overriding costs is a rung, too.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from pathlib import Path

from photometer.errors import DefinitionError

_TYPES_FILE = Path(__file__).with_name("tensor_types.py")
# Where a rung's argument is put; braces of the wrapper's own code stay as they are.
_ARGUMENT = "{}"
# The first operator under a dispatch mode makes torch import 800 modules, sympy among them: minutes under Valgrind.
_IMPORTING_SECONDS = 900.0


@dataclasses.dataclass(frozen=True)
class Rung:
    """`wrap` makes the rung's type of a plain tensor, which is written `{}`; `definitions` make the names it uses.

    `enter` runs last in the set-up, such as entering a mode, which stays entered: every benchmark has a process of its
    own. `takes_methods` is False for a tensor-like, which has none of a tensor's methods, operators and attributes.
    `timeout_seconds` is for one whose first call takes long.
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
    """Without docstrings and annotations: they would need typing over there, and tell nothing."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(inner, clean=False) is not None:
            inner.body = inner.body[1:] or [ast.Pass()]
        if isinstance(inner, ast.arg):
            inner.annotation = None
        if isinstance(inner, ast.FunctionDef):
            inner.returns = None


def text_of(*names: str) -> str:
    """The text of these classes and functions of tensor_types.py, in this order."""
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
