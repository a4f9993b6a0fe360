"""Split C++ text into its top-level pieces, as far as that is possible without a parser.

In: a snippet's text. Out: its pieces, the names they declare, and whether a piece may share a file with other snippets.
If a guess is wrong the compiler rejects it, and the builder uses the text unchanged: guesses must be cautious, not
right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from photometer.definition.cpp_text import blanked, has_open_comment, runs_on

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
