"""Pickles of torch.utils.benchmark's results, as users of torch keep them, read as results of ours.

In: a file with one or more pickles, or one that torch.save wrote. Out: Measurements and CallgrindStats. A pickle names
what is to be called when it is read, so anyone who can write one can run code. This reader knows the few names that
torch's results consist of, makes plain objects of them, and refuses every other name before anything is called.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from photometer.errors import ResultsFileError
from photometer.model.callgrind_stats import CallgrindStats
from photometer.model.function_counts import FunctionCount
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
            f"{path}: holds {refused}, which is no result of torch.utils.benchmark; nothing of it was run",
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
    while stream.tell() < len(content):
        yield _Reader(stream).load()


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
