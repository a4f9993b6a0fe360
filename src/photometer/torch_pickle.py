"""Read pickled results of torch.utils.benchmark, as users of torch keep them, as results of ours.

In: a file with one or more pickles, or one that torch.save wrote. Out: Measurements and CallgrindStats. A pickle names
functions that are called when it is read, so anyone who can write one can run code. This reader knows the few names
that torch's results consist of, makes plain objects of them, and refuses every other name before anything is called.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from photometer.errors import ResultsFileError
from photometer.model.instruction_counts import CallgrindStats, FunctionCount
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.results_format import decode, encode_record
from photometer.model.results_reader import LARGEST_FILE_BYTES, read_limited
from photometer.model.torch_results import callgrind_stats_like, measurement_like

WARNING = (
    "a pickle can run any code when it is read. photometer accepts only results of torch.utils.benchmark in it and "
    "refuses everything else; convert it once, and keep the results file"
)
# torch 1.6 and 1.7 had the package under another name.
_PLACES = ("torch.utils.benchmark.", "torch.utils._benchmark.")

# What a pickle may become if everything it refers to several times is written out each time, in parts and characters
# per byte of it. Results share their TaskSpec and the texts in it, which is far less than this.
MOST_PARTS_PER_BYTE = 100
# And for small files.
LEAST_PARTS_ALLOWED = 1_000_000
_PUTS = ("PUT", "BINPUT", "LONG_BINPUT")
_GETS = ("GET", "BINGET", "LONG_BINGET")
_ADDS = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD")


class _Plain:
    """Stands for one of torch's classes: it has whatever fields the pickle gives it, and does nothing."""


class _Measurement(_Plain):
    pass


class _TaskSpec(_Plain):
    pass


class _CallgrindStats(_Plain):
    pass


class _FunctionCounts(_Plain):
    """Iterates over its rows, as torch's does."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._data)  # type: ignore[attr-defined]  # what the pickle gave it


_CLASSES: dict[str, type] = {
    "utils.common.Measurement": _Measurement,
    "utils.common.TaskSpec": _TaskSpec,
    "utils.valgrind_wrapper.timer_interface.CallgrindStats": _CallgrindStats,
    "utils.valgrind_wrapper.timer_interface.FunctionCounts": _FunctionCounts,
    "utils.valgrind_wrapper.timer_interface.FunctionCount": FunctionCount,
}


class _RefusedName(Exception):
    """A pickle names something that is no result."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        for place in _PLACES:
            if full.startswith(place) and full.removeprefix(place) in _CLASSES:
                return _CLASSES[full.removeprefix(place)]
        raise _RefusedName(full)

    def persistent_load(self, pid: Any) -> NoReturn:
        raise _RefusedName("a tensor")


def load_torch_pickle(path: str | Path) -> list[Measurement | CallgrindStats]:
    """Return the results in a pickle, in their order; an error if it names anything that is no result of torch's."""
    path = Path(path)
    content = read_limited(path, LARGEST_FILE_BYTES)
    try:
        found = [result for value in _pickles(_unpacked(content)) for result in _results_in(value)]
        checked = [_checked(result) for result in found]
    except _RefusedName as refused:
        raise ResultsFileError(
            f"{path}: holds {refused}, which is not a result of torch.utils.benchmark; none of its code was run",
            remedy="If you trust it, read it with pickle in Python, and keep its measurements with photometer.save.",
        ) from None
    except ResultsFileError as error:
        raise ResultsFileError(f"{path}: {error.message}", remedy=error.remedy) from error
    except Exception as error:
        # A damaged pickle can fail in any way; none of them is ours.
        raise ResultsFileError(f"{path}: cannot be read as a pickle: {error}", remedy="Name another file.") from error
    if not checked:
        raise ResultsFileError(f"{path}: holds no measurements", remedy="Name a file that has some.")
    return checked


def _unpacked(content: bytes) -> bytes:
    """Return the pickle inside a file of torch.save, which is a zip archive; other content as it is."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(names) != 1 or archive.getinfo(names[0]).file_size > LARGEST_FILE_BYTES:
            raise ResultsFileError("is an archive, but not one that torch.save wrote")
        return archive.read(names[0])


def _pickles(content: bytes) -> Iterator[Any]:
    """Yield every object: programs that measure in turn append one pickle after another to a file."""
    stream = io.BytesIO(content)
    while (start := stream.tell()) < len(content):
        _Outline().check(stream)
        stream.seek(start)
        yield _Reader(stream).load()


class _Node:
    """An object of a pickle that holds others: the weight of its numbers and texts, and the further objects in it."""

    __slots__ = ("inner", "total", "weight")

    def __init__(self) -> None:
        self.weight = 1
        self.inner: list[_Node] = []
        # With everything in it, as often as it is referred to; 0 until it is computed, -1 while it is.
        self.total = 0

    def add(self, items: list[_Node | int]) -> None:
        for item in items:
            if isinstance(item, int):
                self.weight += item
            else:
                self.inner.append(item)


class _Outline:
    """What a pickle would build, without building it: a few bytes may ask for gigabytes, or for centuries of work."""

    def __init__(self) -> None:
        self._stack: list[_Node | int] = []
        self._marked: list[list[_Node | int]] = []
        self._memo: dict[int, _Node | int] = {}
        self._nodes: list[_Node] = []

    def check(self, stream: io.BytesIO) -> None:
        """Read one pickle; an error if its memo has holes, or if it grows beyond measure when it is written out."""
        start = stream.tell()
        argument: Any
        for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if opcode.name in _PUTS:
                # Pickle numbers objects one after another, and a number takes memory for all that are below it.
                if argument > count:
                    raise ResultsFileError(
                        f"is refused: it stores an object under the number {argument:,}, but has fewer objects",
                        remedy="No program that measures writes this; do not trust the file.",
                    )
                self._memo[argument] = self._stack[-1]
            elif opcode.name == "MEMOIZE":
                self._memo[len(self._memo)] = self._stack[-1]
            elif opcode.name in _GETS:
                self._stack.append(self._memo[argument])
            else:
                self._follow(opcode, argument)
        most = MOST_PARTS_PER_BYTE * (stream.tell() - start) + LEAST_PARTS_ALLOWED
        for node in self._nodes:
            if _total(node, most) > most:
                raise ResultsFileError(
                    f"is refused: it refers to the same objects so often that it has more than {most:,} parts",
                    remedy="No program that measures writes this; do not trust the file.",
                )

    def _follow(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        """Do to the stack what the opcode does."""
        if opcode.name == "MARK":
            self._marked.append(self._stack)
            self._stack = []
        elif opcode.name == "DUP":
            self._stack.append(self._stack[-1])
        elif opcode.name == "POP" and not self._stack and self._marked:
            self._stack = self._marked.pop()
        else:
            taken = self._taken(opcode)
            if opcode.name in _ADDS:
                changed = self._stack[-1]
                if isinstance(changed, _Node):
                    changed.add(taken)
            elif opcode.stack_after:
                self._stack.append(self._made(opcode, argument, taken))

    def _taken(self, opcode: pickletools.OpcodeInfo) -> list[_Node | int]:
        """Take from the stack what the opcode puts into another object or drops."""
        if pickletools.markobject in opcode.stack_before:
            taken, self._stack = self._stack, self._marked.pop()
            return taken
        wanted = len(opcode.stack_before) - (opcode.name in _ADDS)
        if wanted > len(self._stack):
            raise ValueError(f"{opcode.name} finds nothing on the stack")
        taken = self._stack[len(self._stack) - wanted :]
        del self._stack[len(self._stack) - wanted :]
        return taken

    def _made(self, opcode: pickletools.OpcodeInfo, argument: Any, taken: list[_Node | int]) -> _Node | int:
        holds_none = not taken and not opcode.name.startswith("EMPTY_")
        if holds_none and pickletools.markobject not in opcode.stack_before:
            return 1 + (len(argument) if isinstance(argument, str | bytes | bytearray) else 0)
        node = _Node()
        node.add(taken)
        self._nodes.append(node)
        return node


def _total(node: _Node, most: int) -> int:
    """Return the weight of a node with everything in it, as often as it occurs; more than `most` if it is in itself."""
    path = [node] if node.total == 0 else []
    while path:
        last = path[-1]
        if last.total == 0:
            last.total = -1
            path += [each for each in last.inner if each.total == 0]
        else:
            path.pop()
            if last.total == -1:
                # One that is still being computed holds this one, too: that has no end.
                inner = (each.total if each.total > 0 else most + 1 for each in last.inner)
                last.total = min(last.weight + sum(inner), most + 1)
    return node.total


def _results_in(value: Any) -> Iterator[Measurement | CallgrindStats]:
    if isinstance(value, _Measurement):
        yield measurement_like(value)
    elif isinstance(value, _CallgrindStats):
        yield callgrind_stats_like(value)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _results_in(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _results_in(part)


def _checked(result: Measurement | CallgrindStats) -> Measurement | CallgrindStats:
    """Return the result as a results file would give it back, which looks at the type of every field."""
    return from_record(type(result), decode(encode_record(result)))
