"""C++: snippets and options, and the functions that build and run them without a Timer."""

from __future__ import annotations

from photometer.instruments.cpp.build import build_snippets as build_snippets
from photometer.instruments.cpp.snippet import (
    BuiltSnippet as BuiltSnippet,
    CppOptions as CppOptions,
    CppSnippet as CppSnippet,
)
from photometer.worker.native_loop import NativeLoop as NativeLoop

__all__ = ["BuiltSnippet", "CppOptions", "CppSnippet", "NativeLoop", "build_snippets"]
