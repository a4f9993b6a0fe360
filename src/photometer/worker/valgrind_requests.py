"""Valgrind's client requests from Python: a few bytes of machine code that only Valgrind reads as a message.

Outside Valgrind the bytes do nothing. Also the `count` verb: blocks of runs between Callgrind's toggles.
The sequence is Valgrind's documented interface (valgrind.h): on x86-64 four rotations of rdi by 128 bits in all.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
from collections.abc import Callable
from typing import Any

# mov rax, rdi; mov rdx, rsi; rol rdi by 3, 13, 61, 51; xchg rbx, rbx (the request); mov rax, rdx; ret
_X86_64 = bytes.fromhex("4889f8 4889f2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
# mov x4, x0 ; mov x3, x1 ; ror x12 by 3, 13, 51, 61 ; orr x10, x10, x10 ; mov x0, x3 ; ret
_AARCH64 = bytes.fromhex("e40300aa e30301aa 8c0dcc93 8c35cc93 8ccdcc93 8cf5cc93 4a010aaa e00303aa c0035fd6")

_RUNNING_ON_VALGRIND = 0x1001
_CALLGRIND = (ord("C") << 24) | (ord("T") << 16)
_DUMP_STATS, _ZERO_STATS, _TOGGLE_COLLECT, _DUMP_STATS_AT, _START, _STOP = (_CALLGRIND + i for i in range(6))


@functools.lru_cache(maxsize=1)
def _request_function() -> Callable[[Any, int], int]:
    code = {"x86_64": _X86_64, "AMD64": _X86_64, "aarch64": _AARCH64}.get(platform.machine())
    if code is None:
        raise RuntimeError(f"instruction counts are not supported on {platform.machine()}")
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
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


def count_blocks(run_block: Callable[[int], float], number: int, repeats: int) -> dict[str, Any]:
    """Run `repeats` blocks of `number` runs, each counted by itself and dumped: Callgrind numbers the files 1, 2, …"""
    if not running_on_valgrind():
        raise RuntimeError("'count' needs a server under Valgrind")
    request = _request_function()
    start, zero, toggle, dump = ((ctypes.c_uint64 * 6)(n) for n in (_START, _ZERO_STATS, _TOGGLE_COLLECT, _DUMP_STATS))
    request(ctypes.addressof(start), 0)
    for _ in range(repeats):
        request(ctypes.addressof(zero), 0)
        request(ctypes.addressof(toggle), 0)
        run_block(number)
        request(ctypes.addressof(toggle), 0)
        request(ctypes.addressof(dump), 0)
    return {"dumps": repeats}
