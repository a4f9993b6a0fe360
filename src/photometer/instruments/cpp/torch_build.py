"""Which torch a snippet is compiled against: folders of headers and libraries, version, and C++ ABI.

In: a torch folder (of any interpreter). Out: a frozen TorchBuild. Nothing is imported from torch: its version is read
from version.py and its ABI from the names inside libc10, so it may be another environment's torch. The fingerprint of
headers and libraries separates what was built or measured with different builds.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from photometer.errors import ToolMissing

# Libraries whose replacement means "torch was rebuilt", even if the version string is the same (a developer's build).
_NO_TORCH = "C++ snippets are compiled against torch, which this interpreter does not have"
_INSTALL = "Install it: pip install torch"
_FINGERPRINT_LIBRARIES = ("libc10.so", "libtorch_cpu.so", "libc10.dylib", "libtorch_cpu.dylib")
_VERSION_LINE = re.compile(r"""^__version__\s*(?::[^=]*)?=\s*['"]([^'"]+)['"]""", re.MULTILINE)


@dataclass(frozen=True)
class TorchBuild:
    """All facts about a torch that the compiler needs. `fingerprint` changes with its libraries and its headers."""

    include_paths: tuple[Path, ...]
    library_paths: tuple[Path, ...]
    version: str
    cxx11_abi: bool
    fingerprint: str = ""


def torch_build_from_folder(
    torch_folder: Path, *, version: str | None = None, cxx11_abi: bool | None = None
) -> TorchBuild:
    """Return the TorchBuild of any environment's `torch` package folder.

    Arguments that are not given are read from its files.
    """
    if torch_folder == Path():
        # As an interpreter without torch says it.
        raise ToolMissing(_NO_TORCH, remedy=_INSTALL)
    include = torch_folder / "include"
    if not (include / "torch" / "csrc" / "api" / "include" / "torch" / "types.h").is_file():
        raise ToolMissing(
            f"there are no C++ headers of torch under {include}",
            remedy="Install a torch wheel (it contains the headers), or give the folder of a built `torch` package.",
        )
    libraries = torch_folder / "lib"
    return TorchBuild(
        include_paths=(include, include / "torch" / "csrc" / "api" / "include"),
        library_paths=(libraries,),
        version=version if version is not None else _read_version(torch_folder),
        cxx11_abi=cxx11_abi if cxx11_abi is not None else _uses_cxx11_abi(libraries),
        fingerprint=f"{_library_stamps(libraries)},headers:{_header_digest(include, _library_stamps(libraries))}",
    )


def build_fingerprint(torch_folder: Path) -> str:
    """Return a digest that identifies this build of torch: version, libraries, headers and ABI.

    Missing parts (a torch without headers, or a source tree) are left out.
    """
    libraries, include = torch_folder / "lib", torch_folder / "include"
    version = torch_folder / "version.py"
    parts = (
        version.read_text(encoding="utf-8") if version.is_file() else "",
        _library_stamps(libraries),
        _header_digest(include, _library_stamps(libraries)),
        str(_uses_cxx11_abi(libraries)),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def current_torch_build() -> TorchBuild:
    """Return the TorchBuild of the torch that this interpreter would import (or has imported)."""
    return torch_build_from_folder(_current_torch_folder())


def _current_torch_folder() -> Path:
    loaded = sys.modules.get("torch")
    origin = getattr(loaded, "__file__", None)
    if origin is None:
        spec = importlib.util.find_spec("torch")
        origin = spec.origin if spec is not None else None
    if origin is None:
        raise ToolMissing(_NO_TORCH, remedy=_INSTALL)
    return Path(origin).resolve().parent


def _read_version(torch_folder: Path) -> str:
    file = torch_folder / "version.py"
    found = _VERSION_LINE.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    if found is None:
        raise ToolMissing(
            f"{file} does not say which version of torch this is", remedy="Give the version, or reinstall torch."
        )
    return found.group(1)


def _uses_cxx11_abi(libraries: Path) -> bool:
    """Return whether libc10's own functions take std::__cxx11::basic_string. In wheels before 2.6 they did not.

    Other names do not show it: those wheels contain both kinds of string.
    """
    library = libraries / "libc10.so"
    if not library.is_file():
        return True
    status = library.stat()
    return _mentions_cxx11(library, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _mentions_cxx11(library: Path, mtime_ns: int, size: int) -> bool:
    text = library.read_bytes()
    # The constructor of c10::Error takes a string, which the old ABI abbreviates to Ss.
    return b"7__cxx1112basic_string" in text and b"_ZN3c105ErrorC1ENS_14SourceLocationESs" not in text


@lru_cache(maxsize=8)
def _header_digest(include: Path, library_stamps: str) -> str:
    """Return a digest of the names, sizes and dates of all headers (ten thousand files, 0.1 s): once per build."""
    digest = hashlib.sha256()
    for place, folders, names in os.walk(include):
        folders.sort()
        for name in sorted(names):
            status = os.stat(os.path.join(place, name))  # noqa: PTH116, PTH118  ten thousand files
            digest.update(f"{place[len(str(include)) :]}/{name} {status.st_mtime_ns} {status.st_size}\n".encode())
    return digest.hexdigest()[:16]


def _library_stamps(libraries: Path) -> str:
    parts = []
    for name in _FINGERPRINT_LIBRARIES:
        file = libraries / name
        if file.is_file():
            status = file.stat()
            parts.append(f"{name}:{status.st_mtime_ns}:{status.st_size}")
    return ",".join(parts)
