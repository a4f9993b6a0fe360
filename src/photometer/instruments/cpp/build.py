"""Build many snippets: find them in the cache, or group them into few files and compile these on all cores.

In: snippets, a TorchBuild, options. Out, in the same order: a BuiltSnippet, or the BuildError of that snippet alone. A
library is found by its key, a digest of everything that its machine code depends on.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from photometer.errors import BuildError
from photometer.instruments.cpp.cache import SnippetCache
from photometer.instruments.cpp.compile_units import CompileUnit, group_snippets, retry_after_failure
from photometer.instruments.cpp.compiler import Compiler, compile_command, find_compiler, flags_for, host_cpu
from photometer.instruments.cpp.diagnostics import message_for
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet
from photometer.instruments.cpp.source import HEADER_FOLDER, HEADER_NAME, Guard, NamedSnippet, choose_prelude, own_file
from photometer.instruments.cpp.torch_build import TorchBuild, current_torch_build
from photometer.model.code_folder import filling, says_full
from photometer.programs import run_program

# A file takes 8 to 20 s; after this long the compiler hangs, or the machine has run out of memory.
COMPILE_TIMEOUT_SECONDS = 900
_KEY_DIGITS = 32


@dataclass(frozen=True)
class BuildProgress:
    """The progress of a build: snippets finished (built, found or failed), and all that were requested."""

    finished: int
    total: int


@dataclass(frozen=True)
class _Toolchain:
    compiler: Compiler
    flags: tuple[str, ...]
    torch_build: TorchBuild


@dataclass(frozen=True)
class _Compiled:
    """The result of one file: a library, or the log."""

    unit: CompileUnit
    library: Path
    headers: tuple[Path, ...]
    command: tuple[str, ...]
    exit_status: int
    log: str

    @property
    def was_killed(self) -> bool:
        return self.exit_status < 0 or "Killed signal" in self.log

    @property
    def is_hopeless(self) -> bool:
        """Whether no other form of the file can help: the compiler was killed, or a header does not exist."""
        return self.was_killed or ": fatal error: " in self.log


Outcome = BuiltSnippet | BuildError


def build_snippets(
    snippets: Sequence[CppSnippet],
    *,
    torch_build: TorchBuild | None = None,
    options: CppOptions | None = None,
    progress: Callable[[BuildProgress], object] | None = None,
) -> list[BuiltSnippet | BuildError]:
    """Return libraries for all snippets, in their order; for one that does not compile, its BuildError."""
    options = options if options is not None else CppOptions()
    cache = SnippetCache(options.cache_folder)
    torch_build = torch_build if torch_build is not None else current_torch_build()
    with filling(cache.folder):
        compiler = find_compiler(options, cache.folder)
    tools = _Toolchain(compiler, flags_for(compiler, torch_build, options), torch_build)

    keys = [snippet_key(snippet, compiler, tools.flags, torch_build) for snippet in snippets]
    by_key = dict(zip(keys, snippets, strict=True))
    outcomes = _look_up(by_key, cache)

    def report() -> None:
        if progress is not None:
            progress(BuildProgress(sum(key in outcomes for key in keys), len(keys)))

    report()
    if len(outcomes) < len(by_key):
        with filling(cache.folder), cache.lock():
            # Another process may have built them while we waited for the lock.
            outcomes |= _look_up({key: by_key[key] for key in by_key if key not in outcomes}, cache)
            wanted = {key: snippet for key, snippet in by_key.items() if key not in outcomes}
            with cache.scratch() as scratch:
                _Build(tools, options, cache, scratch, outcomes, report).run(wanted)
            cache.trim()
    return [outcomes[key] for key in keys]


def _look_up(by_key: dict[str, CppSnippet], cache: SnippetCache) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for key in by_key:
        library = cache.find(key)
        if library is not None:
            found[key] = BuiltSnippet(library, symbol_of(key), cached=True)
    return found


class _Build:
    """One build of all missing snippets. It fills `outcomes`."""

    def __init__(
        self,
        tools: _Toolchain,
        options: CppOptions,
        cache: SnippetCache,
        scratch: Path,
        outcomes: dict[str, Outcome],
        report: Callable[[], None],
    ) -> None:
        self._tools = tools
        self._options = options
        self._cache = cache
        self._scratch = scratch
        self._outcomes = outcomes
        self._report = report
        self._files = 0

    def run(self, wanted: dict[str, CppSnippet]) -> None:
        members = [NamedSnippet(snippet, symbol_of(key)) for key, snippet in wanted.items()]
        jobs = max(self._options.jobs or _usable_cores(), 1)
        with ThreadPoolExecutor(jobs) as pool:
            units = group_snippets(members, alone=self._options.alone, jobs=jobs)
            running = {self._start(pool, unit) for unit in units}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    running |= {self._start(pool, unit) for unit in self._judge(future.result())}
                self._report()

    def _start(self, pool: ThreadPoolExecutor, unit: CompileUnit) -> Future[_Compiled]:
        self._files += 1
        folder = self._scratch / f"file-{self._files}"
        folder.mkdir()
        return pool.submit(_compile, unit, folder, self._tools)

    def _judge(self, compiled: _Compiled) -> tuple[CompileUnit, ...]:
        """Publish libraries, record final failures, and return the files to compile next."""
        if compiled.exit_status == 0:
            keys = [_key_of(member) for member in compiled.unit.members]
            for key, library in self._cache.publish(compiled.library, dict.fromkeys(keys, compiled.headers)).items():
                self._outcomes[key] = BuiltSnippet(library, symbol_of(key), cached=False)
            return ()
        if says_full(compiled.log):
            # What is compiled next would fail alike.
            raise BuildError(compiled.log.strip())
        retry = retry_after_failure(compiled.unit, compiled.log, hopeless=compiled.is_hopeless)
        for member in retry.failed:
            self._outcomes[_key_of(member)] = _build_error(compiled, member)
        return retry.units


def _compile(unit: CompileUnit, folder: Path, tools: _Toolchain) -> _Compiled:
    source, library, headers = folder / "snippets.cpp", folder / "snippets.so", folder / "headers.d"
    source.write_text(unit.text, encoding="utf-8")
    command = compile_command(tools.compiler, tools.flags, tools.torch_build, source, library, headers)
    try:
        # Messages are read by a program: no translation, no colours. The compiler's own temporary files go into our
        # folder, which is removed also if the compiler is killed.
        variables = {**os.environ, "LC_ALL": "C.UTF-8", "GCC_COLORS": "", "TMPDIR": str(folder)}
        done = run_program(command, COMPILE_TIMEOUT_SECONDS, variables)
        status, log = done.returncode, done.stderr
    except TimeoutError:
        status, log = -1, f"error: the compiler was stopped after {COMPILE_TIMEOUT_SECONDS} s"
    return _Compiled(unit, library, _users_headers(headers, source), tuple(command), status, log)


def _users_headers(headers: Path, source: Path) -> tuple[Path, ...]:
    """Return the headers in a make rule, without the file itself. System and torch headers are not in it (-MMD)."""
    if not headers.is_file():
        return ()
    _, _, names = headers.read_text(encoding="utf-8").replace("\\\n", " ").partition(":")
    paths = [Path(name.replace("\0", " ")) for name in names.replace("\\ ", "\0").split()]
    return tuple(path.absolute() for path in paths if path != source)


def _build_error(compiled: _Compiled, member: NamedSnippet) -> BuildError:
    remedy = "The line numbers are those of your stmt, setup and global_setup. Correct the code there."
    if compiled.was_killed:
        remedy = "Compiling a file takes about 1.5 GB: close other programs, or build with fewer jobs."
    return BuildError(
        "the C++ snippet does not compile",
        command=compiled.command,
        exit_status=compiled.exit_status,
        log=message_for(compiled.log, member.label(compiled.unit.reported_guard), member.snippet),
        remedy=remedy,
    )


def snippet_key(snippet: CppSnippet, compiler: Compiler, flags: tuple[str, ...], torch_build: TorchBuild) -> str:
    """Return 32 hexadecimal digits that name the library in the cache and the symbol in it."""
    # The generated text contains the snippet and changes with our own code.
    text = own_file(NamedSnippet(snippet, "photometer"), choose_prelude(snippet), [Guard.KEPT])
    parts = (
        text,
        _header_text(),
        compiler.command,
        compiler.identity,
        flags,
        torch_build.version,
        torch_build.cxx11_abi,
        torch_build.fingerprint,
        [str(path) for path in torch_build.library_paths],
        host_cpu(flags),
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_KEY_DIGITS]


@functools.lru_cache(maxsize=1)
def _header_text() -> str:
    return (HEADER_FOLDER / HEADER_NAME).read_text(encoding="utf-8")


def symbol_of(key: str) -> str:
    return f"photometer_{key}"


def _key_of(member: NamedSnippet) -> str:
    return member.symbol.removeprefix("photometer_")


def _usable_cores() -> int:
    # macOS has no affinity.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
