"""Finding out about a torch without importing it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from photometer.errors import ToolMissing
from photometer.instruments.cpp.torch_build import build_fingerprint, current_torch_build, torch_build_from_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A torch package folder with just enough in it."""
    header = tmp_path / "torch/include/torch/csrc/api/include/torch/types.h"
    header.parent.mkdir(parents=True)
    header.touch()
    (tmp_path / "torch/lib").mkdir()
    (tmp_path / "torch/lib/libc10.so").write_bytes(b"\x7fELF _ZN3c105ErrorC1ENSt7__cxx1112basic_stringIc")
    (tmp_path / "torch/version.py").write_text(
        "from typing import Optional\n__version__ = '2.9.1+cpu'\ndebug = False\n"
    )
    return tmp_path / "torch"


def test_it_is_read_from_the_folder(folder: Path) -> None:
    build = torch_build_from_folder(folder)
    assert build.version == "2.9.1+cpu"
    assert build.cxx11_abi
    assert build.library_paths == (folder / "lib",)
    assert all(path.is_dir() for path in build.include_paths)


def test_the_older_abi_is_seen(folder: Path) -> None:
    (folder / "lib/libc10.so").write_bytes(b"\x7fELF _ZN3c105ErrorC1ESs")
    assert not torch_build_from_folder(folder).cxx11_abi


def test_strings_of_both_kinds_are_the_older_abi(folder: Path) -> None:
    # Wheels of torch 2.4 have both; their own functions take the older one.
    both = b"\x7fELF _ZNSt7__cxx1112basic_stringIc _ZN3c105ErrorC1ENS_14SourceLocationESs"
    (folder / "lib/libc10.so").write_bytes(both)
    assert not torch_build_from_folder(folder).cxx11_abi


def test_another_header_is_another_build(folder: Path) -> None:
    before = torch_build_from_folder(folder).fingerprint, build_fingerprint(folder)
    (folder / "include" / "new.h").write_text("")
    # Within one process, headers are looked at once per state of the libraries.
    (folder / "lib/libc10.so").write_bytes(b"\x7fELF rebuilt, too")
    after = torch_build_from_folder(folder).fingerprint, build_fingerprint(folder)
    assert before[0].split("headers:")[1] != after[0].split("headers:")[1]
    assert before[1] != after[1]


def test_what_is_given_is_believed(folder: Path) -> None:
    (folder / "version.py").unlink()
    build = torch_build_from_folder(folder, version="9", cxx11_abi=False)
    assert (build.version, build.cxx11_abi) == ("9", False)


def test_a_rebuilt_library_changes_the_fingerprint(folder: Path) -> None:
    before = torch_build_from_folder(folder)
    (folder / "lib/libc10.so").write_bytes(b"\x7fELF rebuilt __cxx11")
    assert torch_build_from_folder(folder).fingerprint != before.fingerprint


def test_without_headers_or_version_the_remedy_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match=r"no C\+\+ headers(.|\n)*Install"):
        torch_build_from_folder(tmp_path)
    (folder / "version.py").write_text("nothing")
    with pytest.raises(ToolMissing, match="version"):
        torch_build_from_folder(folder)


def test_it_agrees_with_torch() -> None:
    import torch
    from torch.utils import cpp_extension

    build = current_torch_build()
    assert build.version == torch.__version__
    assert build.cxx11_abi == torch.compiled_with_cxx11_abi()
    assert [str(path) for path in build.include_paths] == cpp_extension.include_paths()[:2]
    assert [str(path) for path in build.library_paths] == cpp_extension.library_paths()[:1]


def test_torch_is_not_imported_for_it() -> None:
    script = (
        "import sys\nfrom photometer.instruments.cpp.build import build_snippets\n"
        "from photometer.instruments.cpp.torch_build import current_torch_build\n"
        "current_torch_build(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
