"""The C++ compiler: which one to use, its identity, and the command that compiles a file to a library.

In: CXX or the options, a TorchBuild. Out: commands, and an identity for the cache's keys. The identity is stored by the
path, time and size of the program, so that a cached snippet is found without starting the compiler.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from photometer.errors import ToolMissing
from photometer.instruments.cpp.snippet import CppOptions
from photometer.instruments.cpp.source import HEADER_FOLDER
from photometer.instruments.cpp.torch_build import TorchBuild
from photometer.programs import run_program
from photometer.worker.accelerators import all_of

_CANDIDATES = ("c++", "g++", "clang++")
_INSTALL = (
    "Install one: `apt install g++` (Debian, Ubuntu), `dnf install gcc-c++` (Fedora), `conda install gxx` (conda), "
    "`xcode-select --install` (macOS); or set CXX."
)
# The release flags of torch that change code (NDEBUG: there are debug assertions in headers, too), and C++20, which
# torch 2.13's headers and our coroutines need.
_CODE_FLAGS = ("-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility-inlines-hidden", "-fno-semantic-interposition")
# A statement's result is often assigned but not read: that is no mistake here, whatever -W flags are given.
_QUIET_FLAGS = (
    "-Wno-unused-variable",
    "-Wno-unused-but-set-variable",
    "-Wno-unused-value",
    "-Wno-unused-result",
    "-Wno-unused-function",
)
# g++ collects garbage while it parses headers; with these it does not (saves 1 s of 8 s, for 0.2 GB more).
_GCC_MEMORY_FLAGS = ("--param=ggc-min-expand=1000", "--param=ggc-min-heapsize=4000000")
# A snippet's machine code must not depend on the other snippets in its file. But g++ decides about inlining once for
# the whole file, in an order and up to a size that depend on all of it, and by how often the file calls a function. So
# inlining is left to its early stage, which looks at one function and those it calls, with the limit (in instructions)
# of the later stage; and callers learn nothing about a function but what its own code says.
# tests/instruments/cpp/test_build_company.py compares the code of functions in two files. clang works like this anyway.
_GCC_INDEPENDENCE_FLAGS = (
    "--param=early-inlining-insns=60",
    "--param=max-early-inliner-iterations=3",
    "--param=max-inline-insns-single=0",
    "--param=max-inline-insns-auto=0",
    "--param=max-inline-insns-small=0",
    "--param=comdat-sharing-probability=100",
    "--param=inline-unit-growth=100000",
    "--param=large-unit-insns=100000000",
    "-fno-inline-functions-called-once",
    "-fno-ipa-cp",
    "-fno-ipa-icf",
    "-fno-ipa-ra",
    "-fno-ipa-sra",
)
# In earlier versions some of these parameters have other names.
_FIRST_GCC_WITH_THEM = 11
# Always linked; an accelerator's libraries only if a snippet needs them.
_LIBRARIES = ("c10", "torch_cpu", "torch")
_DEVICE_LIBRARIES = all_of(lambda backend: backend.libraries)
_HOST_CPU_FLAG = re.compile(r"-m(?:arch|cpu|tune)=native")
_VERSION_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Compiler:
    """A compiler's command (more than one word with ccache) and the version it reports."""

    command: tuple[str, ...]
    identity: str

    @property
    def is_gcc(self) -> bool:
        return "clang" not in self.identity.lower()

    @property
    def gcc_version(self) -> int:
        """Return the major version of g++; 0 for other compilers, or if it is unknown."""
        numbers = re.findall(r"(?<![\w.-])(\d+)\.\d+\.\d+", self.identity) if self.is_gcc else []
        return int(numbers[-1]) if numbers else 0


def find_compiler(options: CppOptions, memory_folder: Path) -> Compiler:
    """Return the compiler to use. Its identity is read from `memory_folder`, or determined and written there."""
    command = _choose_command(options)
    return Compiler(command, _remembered_identity(command, memory_folder))


def _choose_command(options: CppOptions) -> tuple[str, ...]:
    asked = options.compiler or os.environ.get("CXX", "").strip()
    if asked:
        words = shlex.split(asked)
        program = shutil.which(words[0]) if words else None
        if program is None:
            source = "the option" if options.compiler else "CXX"
            raise ToolMissing(f"the C++ compiler {asked!r} (from {source}) was not found", remedy=_INSTALL)
        return (program, *words[1:])
    for candidate in _CANDIDATES:
        program = shutil.which(candidate)
        if program is not None:
            return (program,)
    raise ToolMissing(f"there is no C++ compiler: none of {', '.join(_CANDIDATES)} is on the PATH", remedy=_INSTALL)


def _remembered_identity(command: tuple[str, ...], memory_folder: Path) -> str:
    programs = [found for word in command if (found := shutil.which(word)) is not None]
    stamps = []
    for program in programs:
        real = Path(program).resolve()
        status = real.stat()
        stamps.append([str(real), status.st_mtime_ns, status.st_size])
    memory = memory_folder / f"compiler-{hashlib.sha256(json.dumps([command, stamps]).encode()).hexdigest()[:32]}"
    try:
        return memory.read_text(encoding="utf-8")
    except FileNotFoundError:
        identity = _ask_identity(command)
    scratch = memory.with_name(f"{memory.name}.{os.getpid()}")
    scratch.write_text(identity, encoding="utf-8")
    scratch.replace(memory)
    return identity


def _ask_identity(command: tuple[str, ...]) -> str:
    parts = []
    for option in ("--version", "-dumpmachine"):
        asked = [*command, option]
        try:
            done = run_program(asked, _VERSION_TIMEOUT_SECONDS)
        except OSError as error:
            raise ToolMissing(
                f"{command[0]} does not work as a C++ compiler: {error}", command=asked, remedy=_INSTALL
            ) from error
        if done.returncode != 0:
            raise ToolMissing(
                f"{command[0]} does not work as a C++ compiler",
                command=asked,
                exit_status=done.returncode,
                log=done.stderr,
                remedy=_INSTALL,
            )
        parts.append(done.stdout.split("\n")[0].strip())
    return " ".join(parts)


def flags_for(compiler: Compiler, torch_build: TorchBuild, options: CppOptions) -> tuple[str, ...]:
    """Return all flags that affect the machine code. They are part of a cached library's key."""
    includes = [flag for path in torch_build.include_paths for flag in ("-isystem", str(path))]
    return (
        *_CODE_FLAGS,
        *(_GCC_MEMORY_FLAGS if compiler.is_gcc else ()),
        *(_GCC_INDEPENDENCE_FLAGS if compiler.gcc_version >= _FIRST_GCC_WITH_THEM else ()),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch_build.cxx11_abi)}",
        *(f"-I{path}" for path in options.include_paths),
        *includes,
        "-isystem",
        str(HEADER_FOLDER),
        *options.extra_flags,
        *_QUIET_FLAGS,
    )


def compile_command(
    compiler: Compiler, flags: tuple[str, ...], torch_build: TorchBuild, source: Path, library: Path, headers: Path
) -> list[str]:
    """Return the command to compile and link. It writes the user's own headers to `headers` (-MMD omits torch's)."""
    folders = [flag for path in torch_build.library_paths for flag in (f"-L{path}", f"-Wl,-rpath,{path}")]
    device_libraries = [
        f"-Wl,--push-state,--as-needed,-l{name},--pop-state"
        for name in _DEVICE_LIBRARIES
        if any((path / f"lib{name}.so").is_file() for path in torch_build.library_paths)
    ]
    # Make undefined names an error now, with the snippet's name, not later in a worker.
    undefined = ["-Wl,-z,defs"] if platform.system() == "Linux" else []
    return [
        *compiler.command,
        *flags,
        "-MMD",
        "-MF",
        str(headers),
        "-shared",
        str(source),
        "-o",
        str(library),
        *folders,
        *undefined,
        *device_libraries,
        *(f"-l{name}" for name in _LIBRARIES),
    ]


def host_cpu(flags: tuple[str, ...]) -> str:
    """Return the properties of this CPU that the machine code depends on: none, unless a flag is `native`."""
    if not any(_HOST_CPU_FLAG.fullmatch(flag) for flag in flags):
        return ""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except FileNotFoundError:
        return f"{platform.machine()} {platform.processor()}"
    telling = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU part")
    return "\n".join(line for line in lines if line.split("\t")[0].split(":")[0].strip() in telling)
