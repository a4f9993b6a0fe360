"""Valgrind's client requests from Python: a few bytes of machine code that only Valgrind reads as a message.

Outside Valgrind the bytes do nothing. Also the `count` verb: blocks of runs between Callgrind's toggles.
The sequence is Valgrind's documented interface (valgrind.h): on x86-64 four rotations of rdi by 128 bits in all.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import struct
from collections.abc import Callable
from typing import Any

# mov rax, rdi; mov rdx, rsi; rol rdi by 3, 13, 61, 51; xchg rbx, rbx (the request); mov rax, rdx; ret
_X86_64 = bytes.fromhex("4889f8 4889f2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
# mov x4, x0 ; mov x3, x1 ; ror x12 by 3, 13, 51, 61 ; orr x10, x10, x10 ; mov x0, x3 ; ret
_AARCH64 = bytes.fromhex("e40300aa e30301aa 8c0dcc93 8c35cc93 8ccdcc93 8cf5cc93 4a010aaa e00303aa c0035fd6")

_RUNNING_ON_VALGRIND = 0x1001
_CALLGRIND = (ord("C") << 24) | (ord("T") << 16)
_DUMP_STATS, _ZERO_STATS, _TOGGLE_COLLECT, _DUMP_STATS_AT, _START, _STOP = (_CALLGRIND + i for i in range(6))

# CPython specialises bytecode after a few dozen rounds; the loop that counts must have settled before it counts.
PRACTICE_RUNS = 100


class Hooks:
    """Native functions without arguments, at fixed addresses: `toggle` is Callgrind's switch of collection.

    A compiled snippet calls them around its own loop, so that nothing of Python is counted with it.
    """

    def __init__(self) -> None:
        self._words = (ctypes.c_uint64 * 6)(_TOGGLE_COLLECT)
        self._page = _executable_page(_without_arguments(_machine_code(), ctypes.addressof(self._words)))
        self.toggle = ctypes.addressof(ctypes.c_char.from_buffer(self._page))


@functools.lru_cache(maxsize=1)
def hooks() -> Hooks:
    return Hooks()


def _machine_code() -> bytes:
    code = {"x86_64": _X86_64, "AMD64": _X86_64, "aarch64": _AARCH64}.get(platform.machine())
    if code is None:
        raise RuntimeError(f"instruction counts are not supported on {platform.machine()}")
    return code


def _without_arguments(code: bytes, words_address: int) -> bytes:
    """Return the request with the address of its words inside."""
    address = struct.pack("<Q", words_address)
    if code is _X86_64:
        # movabs rdi, address; xor esi, esi
        return b"\x48\xbf" + address + b"\x31\xf6" + code
    # ldr x0, (the 8 bytes behind the code); mov x1, #0. The load counts in words from itself.
    distance = (8 + len(code) + 7) // 8 * 8
    load = struct.pack("<I", 0x58000000 | (distance // 4) << 5)
    return (load + struct.pack("<I", 0xD2800001) + code).ljust(distance, b"\0") + address


def _executable_page(code: bytes) -> mmap.mmap:
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    return page


@functools.lru_cache(maxsize=1)
def _request_function() -> Callable[[Any, int], int]:
    page = _executable_page(_machine_code())
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)(address)
    function.page = page  # type: ignore[attr-defined]  # keeps the code mapped
    return function


def _request(number: int) -> int:
    words = (ctypes.c_uint64 * 6)(number)
    return int(_request_function()(ctypes.addressof(words), 0))


def running_on_valgrind() -> bool:
    return _request(_RUNNING_ON_VALGRIND) > 0


def start_instrumentation() -> None:
    _request(_START)


def stop_instrumentation() -> None:
    """Forget translated code, and run several times as fast until instrumentation starts again."""
    _request(_STOP)


class CallgrindSwitch:
    """`begin` and `end` stand around what is counted; `end` writes it to a file, the second that this process writes.

    The first has nothing that matters: see count_blocks.
    """

    def __init__(self) -> None:
        if not running_on_valgrind():
            raise RuntimeError("instructions of a compilation are counted in a server under Valgrind")
        self._request = _request_function()
        numbers = (_START, _DUMP_STATS, _ZERO_STATS, _TOGGLE_COLLECT)
        self._start, self._dump, self._zero, self._toggle = ((ctypes.c_uint64 * 6)(number) for number in numbers)

    def begin(self) -> None:
        for words in (self._start, self._toggle, self._toggle, self._dump, self._zero, self._toggle):
            self._request(ctypes.addressof(words), 0)

    def end(self) -> None:
        for words in (self._toggle, self._dump):
            self._request(ctypes.addressof(words), 0)


def count_blocks(
    run_block: Callable[[int], float], number: int, *, warmup_runs: int, toggles_itself: bool = False
) -> int:
    """Run a block of `number` runs, counted and dumped; return how many dumps there are.

    The first file is of the warm-up and not to be read: Callgrind's counters of calls go on while collection is off,
    and jumps into other libraries are counted until the code around them has been dumped once; only a dump clears
    either. `toggles_itself` says that the block has the toggles inside (a compiled one, see Hooks).
    """
    if not running_on_valgrind():
        raise RuntimeError("'count' needs a server under Valgrind")
    request = _request_function()
    numbers = (_START, _ZERO_STATS, _TOGGLE_COLLECT, _DUMP_STATS, _RUNNING_ON_VALGRIND)
    start, zero, toggle, dump, nothing = ((ctypes.c_uint64 * 6)(n) for n in numbers)
    if toggles_itself:
        toggle = nothing
    request(ctypes.addressof(start), 0)
    # One place in the code for practice runs, warm-up and repeats, so that it has settled when it counts.
    for i in range(PRACTICE_RUNS + 2):
        before, switch, after = (zero, toggle, dump) if i >= PRACTICE_RUNS else (nothing, nothing, nothing)
        runs = number if i > PRACTICE_RUNS else warmup_runs if i == PRACTICE_RUNS else 0
        request(ctypes.addressof(before), 0)
        request(ctypes.addressof(switch), 0)
        run_block(runs)
        request(ctypes.addressof(switch), 0)
        request(ctypes.addressof(after), 0)
    return 2
