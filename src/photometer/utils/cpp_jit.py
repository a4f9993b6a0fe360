"""What torch.utils.benchmark.utils.cpp_jit offers: a C++ statement as something that can be timed.

Snippets are compiled together and kept (docs/cpp.md), and run in a process of their own.
"""

from __future__ import annotations

from photometer.errors import DefinitionError
from photometer.instruments.cpp.remote_loop import RemoteLoop

__all__ = ["compile_callgrind_template", "compile_timeit_template"]


def compile_timeit_template(*, stmt: str, setup: str, global_setup: str) -> RemoteLoop:
    """Compile the statement, and return an object whose `timeit(number)` runs it."""
    loop = RemoteLoop(stmt, setup, global_setup)
    loop.build()
    return loop


def compile_callgrind_template(*, stmt: str, setup: str, global_setup: str) -> str:
    """Raise: a snippet is not a program of its own here, but is counted in a server that has torch loaded already."""
    raise DefinitionError(
        "photometer cannot turn a C++ statement into a program",
        remedy='Count it with Timer(stmt, setup, global_setup, language="cpp").collect_callgrind().',
    )
