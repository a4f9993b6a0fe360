"""Trampolines: a piece of machine code for every path of Python calls, by which Callgrind tells the paths apart.

The interpreter's hook for evaluating frames (PEP 523) is set to a dispatcher in machine code. It finds the path's
trampoline by the path it is on and the frame's code object, and calls it; the trampoline jumps to the interpreter's
loop. So every path has a function of its own in Callgrind's call graph, and what was executed below it is exact.
CPython 3.12 and later have trampolines for the profiler perf; those tell functions apart, not paths.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import struct
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType

# An option makes Callgrind look through the dispatcher, by its address (callgrind/python_frames.py). Valgrind
# keeps the upper half of the address space to itself, and nothing is mapped so high without being asked for.
DISPATCHER_ADDRESS = 0x60_0000_0000
# A model of a thousand layers has about this many.
MOST_PATHS = 20_000

_MAP_PRIVATE_ANONYMOUS = 0x22
_FIRST_TRAMPOLINE = 0x100
_TRAMPOLINE_BYTES = 16
_ENTRY = struct.Struct("<QQQQ")
_MULTIPLIER = 0x61C88647

# rsi is the frame. `mov r10, [rsi + OFFSET]; and r10, -8` is its code object, of which 3.14 marks pointers;
# `movabs r11, TABLE; mov r8, [r11 - 16]` the path we are on;
# `imul rax, r8, MULTIPLIER; mov rcx, r10; shr rcx, 4; add rax, rcx` where to look first.
_LOAD = (
    bytes.fromhex("4c8b56"),
    bytes.fromhex("4983e2f8 49bb"),
    bytes.fromhex("4d8b43f0 4969c04786c861 4c89d1 48c1e904 4801c8"),
)
# PROBE: `and eax, MASK; mov rcx, rax; shl rcx, 5; add rcx, r11; inc eax; mov r9, [rcx]; test r9, r9; je MISS;
# cmp r9, r10; jne PROBE; cmp [rcx + 8], r8; jne PROBE; mov r9, [rcx + 16]; mov rcx, [rcx + 24]; jmp GO;
# MISS: mov r9, [r11 - 8]; mov rcx, r8`: what is unknown stays on the path of its caller
_PROBE = bytes.fromhex(
    "4889c1 48c1e105 4c01d9 ffc0 4c8b09 4d85c9 7415 4d39d1 75e2 4c394108 75dc 4c8b4910 488b4918 eb07 4d8b4bf8 4c89c1"
)
# GO: `push r8; mov [r11 - 16], rcx; call r9; movabs r11, TABLE; pop r8; mov [r11 - 16], r8; ret`
_GO = (bytes.fromhex("4150 49894bf0 41ffd1 49bb"), bytes.fromhex("4158 4d8943f0 c3"))


@dataclass
class CallPath:
    """A function as it is called on one path; its place among all paths is its number, and `parent` that of its caller.

    `calls` says how often it called each function, and on which line: `("contiguous", 41)`.
    """

    code: CodeType
    parent: int
    children: dict[int, int] = field(default_factory=dict)
    calls: Counter[tuple[str, int]] = field(default_factory=Counter)


class CallPaths:
    """The paths of calls in a run. Number 0 is the caller of them all, and has no code of its own."""

    def __init__(self) -> None:
        self.paths: list[CallPath] = [CallPath((lambda: None).__code__, -1)]
        self.runs = 0
        # Whether each is a function, on whatever path it is called.
        self.are_functions = False

    def watch(self, run: Callable[[int], object], number: int) -> None:
        """Run the function `number` times, and keep every path of its calls."""
        current = 0

        def on_event(frame: FrameType, event: str, argument: object) -> None:
            nonlocal current
            if event == "c_call":
                self.paths[current].calls[native_label(argument), frame.f_lineno or 0] += 1
            elif event == "call":
                line = frame.f_back.f_lineno if frame.f_back is not None else 0
                self.paths[current].calls[python_label(frame), line or 0] += 1
                current = self._below(current, frame.f_code)
            elif event == "return" and current:
                current = self.paths[current].parent

        self.runs += number
        sys.setprofile(on_event)
        try:
            run(number)
        finally:
            sys.setprofile(None)

    def _below(self, parent: int, code: CodeType) -> int:
        children = self.paths[parent].children
        if id(code) not in children:
            if len(self.paths) >= MOST_PATHS:
                raise TooManyPaths
            children[id(code)] = len(self.paths)
            self.paths.append(CallPath(code, parent))
        return children[id(code)]


class CalledFunctions:
    """The functions that are called, on any path: a compiler is too large, and too recursive, for its paths."""

    def __init__(self) -> None:
        self._paths = CallPaths()

    def watch_on(self) -> None:
        """Record every call of a Python function until `paths` is called."""
        functions, number_of = self._paths.paths, self._paths.paths[0].children

        def on_event(frame: FrameType, event: str, argument: object) -> None:
            if event != "call":
                return
            code, caller = frame.f_code, frame.f_back
            if id(code) not in number_of:
                number_of[id(code)] = len(functions)
                functions.append(CallPath(code, 0))
            if caller is not None and id(caller.f_code) in number_of:
                functions[number_of[id(caller.f_code)]].calls[qualified_name(code), caller.f_lineno or 0] += 1

        sys.setprofile(on_event)

    def paths(self) -> CallPaths:
        """Return each function as a path of its own that is below none."""
        sys.setprofile(None)
        self._paths.runs = 1
        self._paths.are_functions = True
        return self._paths


class TooManyPaths(Exception):
    """A recursion without a visible end, or a statement that should be smaller."""


class Trampolines:
    """Of these paths. `install` makes the interpreter use them, `remove` ends that; `map_text` names them."""

    def __init__(self, paths: CallPaths, code_offset: int) -> None:
        self._paths = paths
        self._code_offset = code_offset
        self._api = ctypes.pythonapi
        self._api.PyInterpreterState_Get.restype = ctypes.c_void_p
        self._api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
        self._api._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
        self._api._PyInterpreterState_SetEvalFrameFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self._loop = ctypes.cast(self._api._PyEval_EvalFrameDefault, ctypes.c_void_p).value or 0
        self._table = _Table(paths)

    def install(self) -> bool:
        """Return whether trampolines could be installed.

        They cannot if torch.compile evaluates frames, or the address is in use.
        """
        interpreter = self._api.PyInterpreterState_Get()
        if self._api._PyInterpreterState_GetEvalFrameFunc(interpreter) not in (self._loop, None):
            return False
        table = struct.pack("<Q", self._table.address)
        code = _LOAD[0] + bytes([self._code_offset]) + _LOAD[1] + table + _LOAD[2]
        code += b"\x25" + struct.pack("<I", self._table.mask) + _PROBE + _GO[0] + table + _GO[1]
        trampoline = b"\x48\xb8" + struct.pack("<Q", self._loop) + b"\xff\xe0"  # movabs rax, LOOP; jmp rax
        code = code.ljust(_FIRST_TRAMPOLINE, b"\xcc")
        if not _map_code(code + trampoline.ljust(_TRAMPOLINE_BYTES, b"\xcc") * len(self._paths.paths)):
            return False
        # Frames that the dispatcher has called come back to it, and to the table, after `remove` too.
        _kept.append(self._table)
        self._api._PyInterpreterState_SetEvalFrameFunc(interpreter, DISPATCHER_ADDRESS)
        return True

    def remove(self) -> None:
        self._api._PyInterpreterState_SetEvalFrameFunc(self._api.PyInterpreterState_Get(), self._loop)

    def map_text(self) -> str:
        """Return JSON: how many runs were watched, and per path its address, its caller's, its code and its calls."""
        rows = [
            {
                "address": trampoline_address(number),
                "parent": 0 if self._paths.are_functions else trampoline_address(path.parent),
                "function": qualified_name(path.code),
                "file": shown_file(path.code.co_filename),
                "line": path.code.co_firstlineno,
                "calls": [[label, line, times] for (label, line), times in sorted(path.calls.items())],
            }
            for number, path in enumerate(self._paths.paths)
            if number
        ]
        return json.dumps({"runs": self._paths.runs, "paths": rows})


class _Table:
    """Trampoline and path by code object and path above, hashed with linear probing. Before it: the path we are on."""

    def __init__(self, call_paths: CallPaths) -> None:
        paths = call_paths.paths
        size = 64
        while size < 4 * len(paths):
            size *= 2
        self.mask = size - 1
        entries = [(0, 0, 0, 0)] * size
        for number, path in enumerate(paths):
            if number == 0:
                continue
            index = ((id(path.code) >> 4) + path.parent * _MULTIPLIER) & self.mask
            while entries[index][0]:
                index = (index + 1) & self.mask
            # Below a function one is still on no path: all functions are looked up from there.
            below = 0 if call_paths.are_functions else number
            entries[index] = (id(path.code), path.parent, trampoline_address(number), below)
        state = struct.pack("<QQ", 0, trampoline_address(0))
        self._bytes = ctypes.create_string_buffer(state + b"".join(_ENTRY.pack(*entry) for entry in entries))
        self.address = ctypes.addressof(self._bytes) + len(state)


_kept: list[_Table] = []


def trampoline_address(number: int) -> int:
    return DISPATCHER_ADDRESS + _FIRST_TRAMPOLINE + _TRAMPOLINE_BYTES * number


def make_trampolines(run: Callable[[int], object], number: int) -> Trampolines | None:
    """Return trampolines for the paths that `run(number)` takes, in use from now on; None if there cannot be any."""
    paths = CallPaths()
    try:
        paths.watch(run, number)
    except TooManyPaths:
        return None
    return trampolines_of(paths)


def trampolines_of(paths: CallPaths) -> Trampolines | None:
    """Return trampolines for these paths, in use from now on; None if there cannot be any."""
    offset = code_offset(sys._getframe())
    if sys.implementation.name != "cpython" or platform.machine() not in ("x86_64", "AMD64") or offset is None:
        return None
    trampolines = Trampolines(paths, offset)
    return trampolines if trampolines.install() else None


def native_label(function: object) -> str:
    """Return the name of a native function without its class or module: `contiguous`."""
    return str(getattr(function, "__name__", type(function).__name__))


def python_label(frame: FrameType) -> str:
    """Return a Python function's name with the class of its object, which says which of many modules is called."""
    code = frame.f_code
    if code.co_argcount and code.co_varnames[0] == "self":
        return f"{type(frame.f_locals.get('self')).__name__}.{code.co_name}"
    return qualified_name(code)


def qualified_name(code: CodeType) -> str:
    return str(getattr(code, "co_qualname", code.co_name))


def shown_file(file: str) -> str:
    """Return the path below the folder it was imported from: `tinynet/model.py`.

    Paths of the standard library begin with `python3.`.
    """
    standard = os.path.dirname(os.__file__)  # noqa: PTH120
    roots = [os.path.abspath(folder) for folder in sys.path if folder and folder != standard]  # noqa: PTH100
    roots.append(os.path.dirname(standard))  # noqa: PTH120
    below = [file[len(root) :].lstrip("/") for root in roots if file.startswith(root.rstrip("/") + "/")]
    return min(below, key=len) if below else file


def code_offset(frame: FrameType) -> int | None:
    """Return where the interpreter's frame has its code object; None if this Python keeps it in another way."""
    # From 3.11 on the frame object holds a pointer to the interpreter's own frame, behind its header and f_back.
    inner = id(frame) if sys.version_info < (3, 11) else ctypes.c_uint64.from_address(id(frame) + 24).value
    offset = 32 if sys.version_info < (3, 12) else 0
    return offset if ctypes.c_uint64.from_address(inner + offset).value & ~7 == id(frame.f_code) else None


def _map_code(code: bytes) -> bool:
    """Put machine code at the dispatcher's address, unless that is in use."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    address = libc.mmap(DISPATCHER_ADDRESS, len(code), protection, _MAP_PRIVATE_ANONYMOUS, -1, 0)
    if address != DISPATCHER_ADDRESS:
        if address not in (None, ctypes.c_size_t(-1).value):
            libc.munmap(address, len(code))
        return False
    ctypes.memmove(address, code, len(code))
    return True
