"""CompileVariant: how torch.compile is called for one variant of a benchmark: its mode, dynamic, fullgraph.

In comes what an author gives as `compiled=`, `dynamic=` and `fullgraph=`; out come the variants, plain values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from photometer.definition.place import definition_error

DEFAULT_MODE = "default"
MODES = (DEFAULT_MODE, "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")

CompiledArgument = bool | str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class CompileVariant:
    """The arguments of torch.compile. `dynamic` None lets torch decide, as its default does."""

    mode: str = DEFAULT_MODE
    dynamic: bool | None = None
    fullgraph: bool = False

    @property
    def word(self) -> str:
        """What tells it from plain torch.compile: `reduce-overhead`, `dynamic`, or nothing."""
        words = [] if self.mode == DEFAULT_MODE else [self.mode]
        words += [] if self.dynamic is None else ["dynamic" if self.dynamic else "static"]
        words += ["fullgraph"] if self.fullgraph else []
        return " ".join(words)

    def call_text(self, function: str) -> str:
        """Return the code that compiles the function of this name."""
        options = [] if self.mode == DEFAULT_MODE else [f'mode="{self.mode}"']
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
        if mode not in MODES:
            raise definition_error(
                f"compiled={compiled!r} names the mode {mode!r}",
                remedy=f"Give True, or modes of torch.compile: {', '.join(MODES)}.",
            )
    if len(set(modes)) < len(modes):
        raise definition_error(f"compiled={compiled!r} names a mode twice", remedy="Name each mode once.")
    if dynamic not in (None, True, False) or not isinstance(fullgraph, bool):
        raise definition_error(
            f"dynamic={dynamic!r}, fullgraph={fullgraph!r}", remedy="Give True or False (or None for dynamic)."
        )
    if not modes and (dynamic is not None or fullgraph):
        raise definition_error("dynamic= and fullgraph= without compiled=", remedy="Add compiled=True.")
    return tuple(CompileVariant(mode, dynamic, fullgraph) for mode in modes)
