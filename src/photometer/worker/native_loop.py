"""NativeLoop: a compiled C++ snippet, called through ctypes, as a loop that times blocks of runs.

In: the library and symbol that photometer.instruments.cpp built. Out: seconds for n runs, with a fresh set-up for each
call (`timeit`) or one set-up for many blocks (`open_blocks`). A C++ exception becomes a CppError with its message.
Standard library only: the worker runs it too. The C side of these calls is photometer_loop.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator
from time import perf_counter

# Room for a C++ exception's message; torch's own are a few hundred bytes.
_ERROR_BYTES = 16_384
# Before a block of interest the statement runs once, as torch's C++ timer has it: first calls allocate and look up.
WARMUP_RUNS = 1

Synchronize = Callable[[], object]


class CppError(RuntimeError):
    """The snippet threw a C++ exception. `exception_type` is its C++ type, such as `c10::Error`."""

    def __init__(self, exception_type: str, message: str, place: str) -> None:
        super().__init__(f"C++ exception in {place}: {exception_type}: {message}")
        self.exception_type = exception_type
        self.cpp_message = message


class NativeLoop:
    """`timeit(n)` for one compiled snippet.

    `synchronize` waits for an accelerator; if there is one, it is called before each of the two clock reads. It may
    be set later: only after a first run is it known whether the snippet has opened a device.
    The GIL is free while the snippet runs.
    """

    def __init__(
        self, library_path: str | os.PathLike[str], symbol: str, *, synchronize: Synchronize | None = None
    ) -> None:
        self.synchronize = synchronize
        self._library = ctypes.CDLL(os.fspath(library_path))
        self._open = self._library[symbol]
        self._open.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
        self._open.restype = ctypes.c_void_p
        self._run = self._library["photometer_run_block"]
        self._run.argtypes = (
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_double),
            ctypes.c_char_p,
            ctypes.c_size_t,
        )
        self._run.restype = ctypes.c_int
        self._close = self._library["photometer_close_blocks"]
        self._close.argtypes = (ctypes.c_void_p,)
        self._close.restype = None

    def timeit(self, number: int = 1_000_000) -> float:
        """Seconds for `number` runs after a fresh set-up and one warm-up run."""
        with self.open_blocks() as run_block:
            run_block(WARMUP_RUNS)
            return run_block(number)

    @contextlib.contextmanager
    def open_blocks(self, *, before: int | None = None, after: int | None = None) -> Iterator[Callable[[int], float]]:
        """Run the set-up once and yield a function that times a block of n runs; variables live on between blocks.

        `before` and `after` are addresses of native functions without arguments, called directly before the clock is
        read, for code that must not go through Python, such as Callgrind's toggles.
        """
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        seconds = ctypes.c_double()
        blocks = self._open(error, _ERROR_BYTES)
        if not blocks:
            raise _cpp_error(error.value, "setup")
        failed = False

        def run_native(number: int) -> float:
            nonlocal failed
            if failed:
                raise RuntimeError("the snippet threw an exception in an earlier block; open new blocks")
            if self._run(blocks, number, before, after, ctypes.byref(seconds), error, _ERROR_BYTES):
                failed = True
                raise _cpp_error(error.value, "stmt")
            return seconds.value

        def run_block(number: int) -> float:
            if self.synchronize is None:
                return run_native(number)
            # The trips through Python are a few microseconds a block, little beside a device's synchronisation.
            self.synchronize()
            start = perf_counter()
            run_native(number)
            self.synchronize()
            return perf_counter() - start

        try:
            yield run_block
        finally:
            self._close(blocks)


def _cpp_error(text: bytes, place: str) -> CppError:
    exception_type, _, message = text.decode("utf-8", "replace").partition("\n")
    return CppError(exception_type, message, place)
