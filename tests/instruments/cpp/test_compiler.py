"""Which compiler, what it is asked, and the command for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.errors import ToolMissing
from photometer.instruments.cpp.compiler import Compiler, compile_command, find_compiler, flags_for
from photometer.instruments.cpp.snippet import CppOptions
from photometer.instruments.cpp.torch_build import TorchBuild


def program(folder: Path, name: str, body: str = 'echo "$0 1.0"') -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    return folder


def test_the_order_is_cxx_then_the_usual_names(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clang = program(tools, "clang++")
    assert find_compiler(CppOptions(), tmp_path).command == (str(clang),)
    gcc = program(tools, "g++")
    assert find_compiler(CppOptions(), tmp_path).command == (str(gcc),)
    usual = program(tools, "c++")
    assert find_compiler(CppOptions(), tmp_path).command == (str(usual),)
    mine, ccache = program(tools, "mine"), program(tools, "ccache")
    monkeypatch.setenv("CXX", "ccache mine -x")
    assert find_compiler(CppOptions(), tmp_path).command == (str(ccache), "mine", "-x")
    assert find_compiler(CppOptions(compiler="mine"), tmp_path).command == (str(mine),)


def test_none_is_an_error_that_says_how_to_install_one(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match=r"no C\+\+ compiler(.|\n)*apt install g\+\+"):
        find_compiler(CppOptions(), tmp_path)


def test_a_cxx_that_is_not_there_is_not_replaced_by_another(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tools, "g++")
    monkeypatch.setenv("CXX", "g++-99")
    with pytest.raises(ToolMissing, match=r"'g\+\+-99' \(from CXX\)"):
        find_compiler(CppOptions(), tmp_path)


def test_a_broken_compiler_is_an_error_with_its_words(tools: Path, tmp_path: Path) -> None:
    program(tools, "g++", "echo no licence >&2; exit 3")
    with pytest.raises(ToolMissing, match=r"does not work(.|\n)*exit status: 3(.|\n)*no licence"):
        find_compiler(CppOptions(), tmp_path)


def test_the_identity_is_remembered_until_the_program_changes(tools: Path, tmp_path: Path) -> None:
    program(tools, "g++", f"echo asked >> {tmp_path}/asked; echo g++ 12")
    assert find_compiler(CppOptions(), tmp_path).identity == "g++ 12 g++ 12"
    find_compiler(CppOptions(), tmp_path)
    assert (tmp_path / "asked").read_text().count("asked") == 2
    program(tools, "g++", "echo g++ 12.2")
    assert find_compiler(CppOptions(), tmp_path).identity == "g++ 12.2 g++ 12.2"


def test_the_users_flags_come_after_ours_and_paths_are_passed() -> None:
    torch = TorchBuild((Path("/t/include"),), (Path("/t/lib"),), "2", False)
    options = CppOptions(extra_flags=("-O3", "-Wall"), include_paths=(Path("/mine"),))
    flags = flags_for(Compiler(("g++",), "g++ 12"), torch, options)
    assert flags.index("-O2") < flags.index("-O3")
    assert flags.index("-Wall") < flags.index("-Wno-unused-variable")
    assert "-I/mine" in flags
    assert "-D_GLIBCXX_USE_CXX11_ABI=0" in flags
    assert flags[flags.index("/t/include") - 1] == "-isystem"


def test_gcc_alone_gets_gccs_parameters() -> None:
    torch = TorchBuild((), (), "2", True)
    for identity, expected in (("g++ (Debian) 12.2", True), ("Debian clang version 17", False)):
        flags = flags_for(Compiler(("c",), identity), torch, CppOptions())
        assert any(flag.startswith("--param") for flag in flags) is expected


def test_the_command_links_torch_and_an_accelerators_libraries_where_there_are_any(tmp_path: Path) -> None:
    torch = TorchBuild((), (tmp_path,), "2", True)
    compiler = Compiler(("ccache", "g++"), "g++ 12")
    paths = (tmp_path / "a.cpp", tmp_path / "a.so", tmp_path / "a.d")
    command = compile_command(compiler, ("-O2",), torch, *paths)
    assert command[:3] == ["ccache", "g++", "-O2"]
    assert f"-Wl,-rpath,{tmp_path}" in command
    assert command[-3:] == ["-lc10", "-ltorch_cpu", "-ltorch"]
    assert not any("cuda" in word for word in command)
    (tmp_path / "libtorch_cuda.so").touch()
    assert any("-ltorch_cuda" in word for word in compile_command(compiler, ("-O2",), torch, *paths))


@pytest.mark.parametrize(
    ("identity", "version"),
    [
        ("c++ (Debian 12.2.0-14+deb12u1) 12.2.0 x86_64-linux-gnu", 12),
        ("g++ (GCC) 9.4.0 x86_64-redhat-linux", 9),
        ("Ubuntu clang version 14.0.0-1ubuntu1 x86_64-pc-linux-gnu", 0),
        ("c++ of my own", 0),
    ],
)
def test_the_version_of_gcc(identity: str, version: int) -> None:
    assert Compiler(("c++",), identity).gcc_version == version
