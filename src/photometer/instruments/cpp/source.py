"""The C++ text of a file of snippets: snippets and their symbols in, a translation unit out.

Each snippet becomes a coroutine (see photometer_loop.h) in its own namespace, and an exported function that starts
it. `#line` directives make the compiler's messages refer to the user's lines, by names that identify the snippet. The
text is split into its top-level pieces as far as that is possible without a parser: pieces of other snippets may share
a file with it. If a guess is wrong the compiler rejects it, and the builder uses the text unchanged: guesses must be
cautious, not right.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from photometer.definition.cpp_text import blanked, has_open_comment, runs_on
from photometer.instruments.cpp.snippet import CppSnippet

_CLOSES = {")": "(", "]": "[", "}": "{"}
# A preprocessor line (also with a digraph), or the operator form.
_DIRECTIVE = re.compile(r"^[ \t]*(?:\#|%:)|\b_Pragma\b", re.MULTILINE)
_INCLUDE_LINE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|\"[^\"\n]+\")[ \t]*(//[^\n]*)?$")

_NAME = r"(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*"
_TEMPLATE_ARGUMENTS = r"(?:<[^;{}]*>)?"
_SPECIFIERS = r"(?:(?:const|constexpr|static|thread_local|volatile|register|unsigned|signed|long|short)\s+)*"
_DECLARATION = re.compile(
    rf"{_SPECIFIERS}{_NAME}{_TEMPLATE_ARGUMENTS}(?:\s+const)?[\s&*]+(?P<name>[A-Za-z_]\w*)\s*(?=[=({{;\[]|$)"
)
_STRUCTURED_BINDING = re.compile(r"(?:const\s+)?auto\s*&{0,2}\s*\[(?P<names>[\w\s,]+)\]\s*[={(]")
# Begins like a call, a member access or a subscript; a name all in capitals may be a macro that expands to anything.
_EXPRESSION = re.compile(rf"(?![A-Z_0-9]+\b){_NAME}{_TEMPLATE_ARGUMENTS}\s*(?:\(|\.|->|\[)")
_FIRST_WORD = re.compile(r"[A-Za-z_]\w*")
# Words that begin something other than a variable declaration or an expression.
_OTHER_BEGINNINGS = re.compile(
    r"(?:if|else|for|while|do|switch|case|default|try|catch|return|goto|break|continue|throw|delete|new|using|typedef|"
    r"namespace|template|struct|class|union|enum|static_assert|asm|extern|friend|public|private|protected|operator|"
    r"co_return|co_yield|co_await|decltype|alignas|sizeof|typeid)\b"
)
_HARMLESS_BEGINNINGS = frozenset(("using", "static_assert", "typedef", "constexpr", "struct", "class", "enum"))
_FUNCTION_HEAD = re.compile(r"\)\s*(?:const|noexcept|override|\s)*(?:->[^{}=]+)?$")


@dataclass(frozen=True)
class Piece:
    """A top-level statement or declaration: where it begins, and its text without comments and literals."""

    start: int
    text: str


def is_self_contained(text: str) -> bool:
    """Return whether every bracket, comment and literal is closed, so that none extends past the text."""
    bare = blanked(text)
    if has_open_comment(bare) or runs_on(text) or re.search(r"(?<!\w)'|'(?!\w)", bare) or bare.count('"') % 2:
        return False
    open_brackets: list[str] = []
    for character in bare:
        if character in _CLOSES.values():
            open_brackets.append(character)
        elif character in _CLOSES and (not open_brackets or open_brackets.pop() != _CLOSES[character]):
            return False
    return not open_brackets


def has_directive(text: str) -> bool:
    return _DIRECTIVE.search(blanked(text)) is not None


def split_includes(global_setup: str) -> tuple[str, str]:
    """Return the `#include` lines, and the rest with empty lines in their place, so that line numbers stay."""
    includes, rest = [], []
    for line, bare in zip(global_setup.split("\n"), blanked(global_setup).split("\n"), strict=True):
        is_include = bare.lstrip().startswith("#") and _INCLUDE_LINE.match(line) is not None
        includes.append(line if is_include else "")
        rest.append("" if is_include else line)
    return "\n".join(includes), "\n".join(rest)


def top_level_pieces(text: str) -> list[Piece]:
    bare = blanked(text)
    pieces: list[Piece] = []
    start, depth = 0, 0

    def finish(end: int) -> None:
        body = bare[start:end]
        if body.strip():
            pieces.append(Piece(start + len(body) - len(body.lstrip()), body.strip()))

    for i, character in enumerate(bare):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        ends_block = character == "}" and depth == 0 and not _continues(bare, i + 1)
        if (character == ";" and depth == 0) or ends_block:
            finish(i + 1)
            start = i + 1
    finish(len(bare))
    return pieces


def _continues(bare: str, position: int) -> bool:
    """Return whether the text after a closing brace belongs to the same piece: `T x{1};`, `[&]{…}()`, `f({1}) + 2`."""
    rest = bare[position:].lstrip()
    return rest[:1] in tuple(";,).([=<>+-*/&|?:")


def declared_names(piece: Piece) -> list[str]:
    """Return the variables that a piece declares, if that is obvious."""
    if _OTHER_BEGINNINGS.match(piece.text):
        return []
    binding = _STRUCTURED_BINDING.match(piece.text)
    if binding is not None:
        return re.findall(r"[A-Za-z_]\w*", binding.group("names"))
    found = _DECLARATION.match(piece.text)
    return [found.group("name")] if found is not None else []


def is_expression(piece: Piece) -> bool:
    """Return whether a piece is obviously an expression whose value is unused."""
    if _OTHER_BEGINNINGS.match(piece.text) or declared_names(piece):
        return False
    return _EXPRESSION.match(piece.text) is not None and not piece.text.endswith("}")


def may_share_a_file(file_level_text: str) -> bool:
    """Return whether file-level code has no effect outside its own namespace.

    Types, functions, aliases and assertions have none. A variable may run code when the library is loaded, for every
    snippet in it; a macro, a specialisation or a namespace affects other code; code that is not recognised might.
    """
    return not has_directive(file_level_text) and all(_is_harmless(p) for p in top_level_pieces(file_level_text))


def _is_harmless(piece: Piece) -> bool:
    if piece.text == ";":
        return True
    text = re.sub(r"^template\s*<[^<>]+>\s*", "", piece.text)
    first = _FIRST_WORD.match(text)
    if first is not None and first.group() in _HARMLESS_BEGINNINGS:
        return True
    if first is None or first.group() in {"namespace", "template", "extern", "asm"}:
        return False
    head, brace, _ = text.partition("{")
    return bool(brace) and text.endswith("}") and "=" not in head and _FUNCTION_HEAD.search(head.rstrip()) is not None


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
