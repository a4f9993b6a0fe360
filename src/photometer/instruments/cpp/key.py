"""The key of a compiled snippet: a digest of everything its machine code depends on.

In: a snippet and how it is compiled. Out: 32 hexadecimal digits, which name the library in the cache and the symbol
in it.
"""

from __future__ import annotations

import functools
import hashlib
import json

from photometer.instruments.cpp.compiler import Compiler, host_cpu
from photometer.instruments.cpp.snippet import CppSnippet
from photometer.instruments.cpp.source import HEADER_FOLDER, HEADER_NAME, Guard, NamedSnippet, choose_prelude, own_file
from photometer.instruments.cpp.torch_build import TorchBuild

_KEY_DIGITS = 32


def snippet_key(snippet: CppSnippet, compiler: Compiler, flags: tuple[str, ...], torch_build: TorchBuild) -> str:
    # The generated text stands for the snippet and for our own version at once.
    text = own_file(NamedSnippet(snippet, "photometer"), choose_prelude(snippet), [Guard.KEPT])
    parts = (
        text,
        _header_text(),
        compiler.command,
        compiler.identity,
        flags,
        torch_build.version,
        torch_build.cxx11_abi,
        torch_build.fingerprint,
        [str(path) for path in torch_build.library_paths],
        host_cpu(flags),
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_KEY_DIGITS]


def symbol_of(key: str) -> str:
    return f"photometer_{key}"


@functools.lru_cache(maxsize=1)
def _header_text() -> str:
    return (HEADER_FOLDER / HEADER_NAME).read_text(encoding="utf-8")
