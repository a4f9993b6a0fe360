"""CompileVariant: how torch.compile is called for one variant of a benchmark: its mode or backend, dynamic, fullgraph.

In comes what an author gives as `compiled=`, `dynamic=` and `fullgraph=`; out come the variants, plain values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from photometer.definition.place import definition_error

DEFAULT_MODE = "default"
MODES = (DEFAULT_MODE, "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")

# `compiled="backend:aot_eager"` names a backend in place of a mode, which only the default backend has.
BACKEND = "backend:"

CompiledArgument = bool | str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class CompileVariant:
    """The arguments of torch.compile. `dynamic` None lets torch decide, as its default does.

    `backend` is that of torch if it is empty; any other has no modes.
    """

    mode: str = DEFAULT_MODE
    dynamic: bool | None = None
    fullgraph: bool = False
    backend: str = ""

    @classmethod
    def named(cls, word: str, dynamic: bool | None = None, fullgraph: bool = False) -> CompileVariant:
        """Return the variant of a mode, or of a backend: `backend:aot_eager`."""
        if word.startswith(BACKEND):
            return cls(DEFAULT_MODE, dynamic, fullgraph, word.removeprefix(BACKEND))
        return cls(word, dynamic, fullgraph)

    @property
    def word(self) -> str:
        """Return how it differs from plain torch.compile: `reduce-overhead`, `dynamic`, or nothing."""
        words = [] if self.mode == DEFAULT_MODE else [self.mode]
        words += [f"{BACKEND}{self.backend}"] if self.backend else []
        words += [] if self.dynamic is None else ["dynamic" if self.dynamic else "static"]
        words += ["fullgraph"] if self.fullgraph else []
        return " ".join(words)

    def call_text(self, function: str) -> str:
        """Return the code that compiles the function of this name."""
        options = [] if self.mode == DEFAULT_MODE else [f'mode="{self.mode}"']
        options += [f'backend="{self.backend}"'] if self.backend else []
        options += [] if self.dynamic is None else [f"dynamic={self.dynamic}"]
        options += ["fullgraph=True"] if self.fullgraph else []
        return f"torch.compile({', '.join([function, *options])})"


def compile_variants(
    compiled: CompiledArgument, dynamic: bool | None = None, fullgraph: bool = False
) -> tuple[CompileVariant, ...]:
    """Return a variant per mode: none for False, the default mode for True."""
    if isinstance(compiled, bool):
        modes: tuple[str, ...] = (DEFAULT_MODE,) if compiled else ()
    else:
        modes = (compiled,) if isinstance(compiled, str) else tuple(compiled)
    for mode in modes:
        if mode not in MODES and not (mode.startswith(BACKEND) and mode.removeprefix(BACKEND).isidentifier()):
            raise definition_error(
                f"compiled={compiled!r} names the mode {mode!r}",
                remedy=f"Give True, modes of torch.compile ({', '.join(MODES)}), or a backend: {BACKEND}aot_eager.",
            )
    if len(set(modes)) < len(modes):
        raise definition_error(f"compiled={compiled!r} names a mode twice", remedy="Name each mode once.")
    if dynamic not in (None, True, False) or not isinstance(fullgraph, bool):
        raise definition_error(
            f"dynamic={dynamic!r}, fullgraph={fullgraph!r}", remedy="Give True or False (or None for dynamic)."
        )
    if not modes and (dynamic is not None or fullgraph):
        raise definition_error("dynamic= and fullgraph= without compiled=", remedy="Add compiled=True.")
    return tuple(CompileVariant.named(mode, dynamic, fullgraph) for mode in modes)
