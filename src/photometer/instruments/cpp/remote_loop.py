"""RemoteLoop: a C++ statement for `Timer`, compiled when first timed, and run in a worker instead of this process.

A crash in the snippet then kills only the worker's child, and is reported.
"""

from __future__ import annotations

import textwrap

from photometer.errors import BuildError
from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet
from photometer.session.shared import SHARED_CHILD, SharedChild
from photometer.worker.messages import Prepare, Time, Timed


class RemoteLoop:
    """`timeit(n)` for a C++ statement: a fresh set-up, one warm-up run, then n runs."""

    def __init__(
        self,
        stmt: str,
        setup: str = "",
        global_setup: str = "",
        *,
        num_threads: int = 1,
        options: CppOptions | None = None,
        shared: SharedChild = SHARED_CHILD,
        seed: int | None = None,
    ) -> None:
        self.snippet = CppSnippet(*(textwrap.dedent(text) for text in (stmt, setup, global_setup)))
        self._num_threads = num_threads
        self._options = options
        self._shared = shared
        self._seed = seed
        self._built: BuiltSnippet | None = None

    def build(self) -> BuiltSnippet:
        """Return the compiled snippet, from the cache if it was compiled before."""
        if self._built is None:
            (outcome,) = build_snippets([self.snippet], options=self._options)
            if isinstance(outcome, BuildError):
                raise outcome
            self._built = outcome
        return self._built

    def timeit(self, number: int) -> float:
        built = self.build()
        prepare = Prepare(
            library=str(built.library),
            symbol=built.symbol,
            num_threads=self._num_threads,
            warmup_runs=1,
            seed=self._seed,
        )
        *_, timed = self._shared.ask(self, [prepare, Time(number)])
        assert isinstance(timed, Timed)
        return timed.seconds
