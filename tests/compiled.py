"""C++ statements that several tests run, compiled in one file: most of the work is to parse torch's headers once.

Tests of compiling itself, and of what does not compile, leave theirs out. A statement that is missing here is compiled
by its own test, later.
"""

from __future__ import annotations

import pytest

from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import CppOptions, CppSnippet

ONES = "auto x = torch::ones({4});"
WANTS_TWO_THREADS = "if (at::get_num_threads() != 2) throw std::runtime_error(std::to_string(at::get_num_threads()));"
THROWS = 'throw std::runtime_error("planted");'
CRASHES = "*(volatile int*)nullptr = 1;"
ADDS_TEN_TIMES = "auto y = x + 1; for (int i = 0; i < 9; ++i) y = x + 1;"
TWO_ONES = "auto x = torch::ones({4}); auto y = torch::ones({4});"

STATEMENTS = (
    CppSnippet("auto y = x + 1;", ONES),
    CppSnippet(ADDS_TEN_TIMES, ONES),
    CppSnippet("auto z = x * y;", TWO_ONES),
    CppSnippet(WANTS_TWO_THREADS),
    CppSnippet(THROWS),
    CppSnippet(CRASHES),
)


@pytest.fixture(scope="session")
def compiled() -> None:
    """Compile them all into the cache; another worker of this test run finds them there."""
    build_snippets(STATEMENTS, options=CppOptions(jobs=1))
