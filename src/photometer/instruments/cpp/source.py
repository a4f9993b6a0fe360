"""The C++ text of a file of snippets: snippets and their symbols in, a translation unit out.

Each snippet becomes a coroutine (see photometer_loop.h) in its own namespace, and an exported function that starts
it. `#line` directives make the compiler's messages refer to the user's lines, by names that identify the snippet.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from photometer.instruments.cpp.pieces import declared_names, is_expression, split_includes, top_level_pieces
from photometer.instruments.cpp.snippet import CppSnippet

HEADER_FOLDER = Path(__file__).parent
HEADER_NAME = "photometer_loop.h"

# The parts of torch/torch.h without nn, data, optim, serialisation and TorchScript. Measured with g++ 12 (CPU time of
# one file): these 8.3 s, all of torch/torch.h 15.8 s, ATen alone 6.0 s (but it lacks torch::ones and the like).
_TENSOR_HEADERS = ("types", "autograd", "cuda", "enum", "fft", "nested", "sparse", "special", "utils", "version")
# Words that may need all of torch's headers. A wrong guess costs time, but does not fail: see compile_units.py.
_WIDE_WORDS = re.compile(
    r"\b(?:nn|optim|data|serialize|jit|save|load|IValue|Module|DataLoader|pickle_save|pickle_load|from_blob_|xpu|mps)\b"
)


class Prelude(enum.Enum):
    """The headers of torch that a file includes."""

    TENSOR = tuple(f"torch/{name}.h" for name in _TENSOR_HEADERS)
    EVERYTHING = ("torch/torch.h", "torch/script.h")


# What each prelude already includes, as written in `#include` lines.
_INCLUDED = {
    Prelude.TENSOR: {"cstdint", "string", "vector", "memory", "utility", "torch/types.h"},
    Prelude.EVERYTHING: {"cstdint", "string", "vector", "memory", "utility", "torch/torch.h", "torch/script.h"},
}
_ANGLED = re.compile(r"\s*#\s*include\s*<([^>]+)>\s*")


class Guard(enum.Enum):
    """Whether the statement is written so that the optimiser keeps its results, or exactly as the user wrote it."""

    KEPT = "kept"
    PLAIN = "plain"


@dataclass(frozen=True)
class NamedSnippet:
    """A snippet with the symbol under which it is exported."""

    snippet: CppSnippet
    symbol: str

    def label(self, guard: Guard) -> str:
        """Return the name that marks its lines in the compiler's messages."""
        return f"{self.symbol}.{guard.value}"


def choose_prelude(snippet: CppSnippet) -> Prelude:
    text = "\n".join((snippet.global_setup, snippet.setup, snippet.stmt))
    return Prelude.EVERYTHING if _WIDE_WORDS.search(text) else Prelude.TENSOR


def own_includes(snippet: CppSnippet, prelude: Prelude) -> str:
    """Return the `#include` lines of a snippet that its prelude lacks, with empty lines in place of all others."""
    includes, _ = split_includes(snippet.global_setup)
    kept = []
    for line in includes.split("\n"):
        named = _ANGLED.fullmatch(line)
        kept.append("" if named and named.group(1).strip() in _INCLUDED[prelude] else line)
    return "\n".join(kept)


def shared_file(members: Sequence[NamedSnippet], prelude: Prelude, guards: Sequence[Guard]) -> str:
    """Return a file of snippets with the same includes, each with its file-level code in its own namespace."""
    first = members[0]
    parts = [_head(prelude), _marked(own_includes(first.snippet, prelude), first.label(guards[0]), "global_setup")]
    for member in members:
        _, rest = split_includes(member.snippet.global_setup)
        parts += [f"namespace {member.symbol}_space {{", _marked(rest, member.label(guards[0]), "global_setup")]
        parts += [*(_coroutine(member, guard) for guard in guards), "}"]
        parts.append(_entry(member, guards, f"{member.symbol}_space::"))
    return "\n".join(parts)


def own_file(member: NamedSnippet, prelude: Prelude, guards: Sequence[Guard]) -> str:
    """Return a file for one snippet, with its file-level code at file level."""
    parts = [_head(prelude), _marked(member.snippet.global_setup, member.label(guards[0]), "global_setup")]
    parts += [_coroutine(member, guard) for guard in guards]
    return "\n".join([*parts, _entry(member, guards, "")])


def _head(prelude: Prelude) -> str:
    return "\n".join([*(f"#include <{header}>" for header in prelude.value), f'#include "{HEADER_NAME}"'])


def _coroutine(member: NamedSnippet, guard: Guard) -> str:
    snippet, label = member.snippet, member.label(guard)
    stmt, kept = snippet.stmt, ""
    if guard is Guard.KEPT:
        stmt, kept = _sunk(stmt), _keep_calls(stmt)
    # The loop is in a lambda so that the statement's variables are ordinary ones: a coroutine's are in its frame.
    return "\n".join(
        [
            f"static photometer::Blocks {_coroutine_name(member, guard)}() {{",
            _marked(snippet.setup, label, "setup"),
            ";",
            "while (true) {",
            "const int64_t photometer_block_runs = co_await photometer::NextBlock{};",
            "[&, photometer_block_runs]() __attribute__((always_inline)) {",
            "for (int64_t photometer_run_ = 0; photometer_run_ < photometer_block_runs; ++photometer_run_) {",
            "photometer::barrier();",
            _marked(stmt, label, "stmt"),
            f";{kept}",
            "}",
            "}();",
            "}",
            "}",
        ]
    )


def _coroutine_name(member: NamedSnippet, guard: Guard) -> str:
    return f"{member.symbol}_{guard.value}_blocks"


def _entry(member: NamedSnippet, guards: Sequence[Guard], scope: str) -> str:
    """Return the exported function. If there are both forms, it starts the kept one; the plain one is only checked."""
    chosen = Guard.KEPT if Guard.KEPT in guards else Guard.PLAIN
    unused = [f"(void){scope}{_coroutine_name(member, guard)};\n" for guard in guards if guard is not chosen]
    return (
        f"PHOTOMETER_EXPORT void* {member.symbol}(char* error, size_t error_size) {{\n{''.join(unused)}"
        f"return photometer::open_blocks({scope}{_coroutine_name(member, chosen)}, error, error_size);\n}}"
    )


def _marked(text: str, label: str, part: str) -> str:
    """Return user text between `#line` directives, unchanged and with the user's line numbers."""
    if not text.strip():
        return ""
    return f'#line 1 "{label}/{part}"\n{text}\n#line 1 "{label}/photometer"'


def _keep_calls(stmt: str) -> str:
    """Return calls that keep the variables of the statement: `auto y = a * b;` alone would be optimised away."""
    names = dict.fromkeys(name for piece in top_level_pieces(stmt) for name in declared_names(piece))
    return "".join(f" photometer::keep({name});" for name in names)


def _sunk(stmt: str) -> str:
    """Return the statement with unused values of expressions kept: `std::sqrt(a);` alone would be optimised away."""
    for piece in reversed(top_level_pieces(stmt)):
        if is_expression(piece):
            stmt = f"{stmt[: piece.start]}photometer::sink, {stmt[piece.start :]}"
    return stmt


def sunk_lines(stmt: str) -> set[int]:
    """Return the lines, from 1, on which `_sunk` adds something."""
    return {stmt.count("\n", 0, piece.start) + 1 for piece in top_level_pieces(stmt) if is_expression(piece)}
