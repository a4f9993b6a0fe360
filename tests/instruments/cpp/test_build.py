"""Building many snippets, with a stand-in for the compiler: what is compiled, with whom, how often, what is cached."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from photometer.errors import BuildError, CacheError
from photometer.instruments.cpp.build import BuildProgress, build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet
from photometer.instruments.cpp.torch_build import TorchBuild
from tests.instruments.cpp.fake_compiler import FakeCompiler

TORCH = TorchBuild((Path("/torch/include"),), (Path("/torch/lib"),), "2.13.0", True)


@pytest.fixture
def compiler(tmp_path: Path) -> FakeCompiler:
    return FakeCompiler(tmp_path)


@pytest.fixture
def options(compiler: FakeCompiler, tmp_path: Path) -> CppOptions:
    return CppOptions(compiler=str(compiler.path), cache_folder=tmp_path / "cache")


def sound(count: int) -> list[CppSnippet]:
    return [CppSnippet(f"auto y = x + {i};", "auto x = torch::ones(3);") for i in range(count)]


def build(
    snippets: list[CppSnippet], options: CppOptions, torch: TorchBuild = TORCH
) -> list[BuiltSnippet | BuildError]:
    return build_snippets(snippets, torch_build=torch, options=options)


def built(outcome: BuiltSnippet | BuildError) -> BuiltSnippet:
    assert isinstance(outcome, BuiltSnippet), outcome
    return outcome


def test_twenty_snippets_are_one_file_and_come_back_in_order(compiler: FakeCompiler, options: CppOptions) -> None:
    snippets = sound(20)
    outcomes = [built(outcome) for outcome in build(snippets, options)]
    assert compiler.compiled == [20]
    for snippet, outcome in zip(snippets, outcomes, strict=True):
        text = outcome.library.read_text()
        assert not outcome.cached
        assert text.index(f"namespace {outcome.symbol}_space") < text.index(snippet.stmt)
    assert len({outcome.symbol for outcome in outcomes}) == 20


def test_a_full_cache_is_named_with_its_remedy(compiler: FakeCompiler, options: CppOptions) -> None:
    with pytest.raises(CacheError, match=f"no space left for the cache folder {options.cache_folder}") as refused:
        build([*sound(3), CppSnippet("FULL;", "")], options)
    assert "PHOTOMETER_CACHE" in str(refused.value)
    assert "photometer cache --clear" in str(refused.value)
    assert len(compiler.compiled) == 1, "nothing is compiled a second time"


def test_the_second_time_no_compiler_starts(compiler: FakeCompiler, options: CppOptions) -> None:
    first = [built(outcome) for outcome in build(sound(5), options)]
    again = [built(outcome) for outcome in build(sound(5), options)]
    assert [outcome.cached for outcome in again] == [True] * 5
    assert [(o.library, o.symbol) for o in first] == [(o.library, o.symbol) for o in again]
    assert compiler.compiled == [5]
    assert compiler.asked_for_identity == 1


def test_only_what_is_missing_is_compiled(compiler: FakeCompiler, options: CppOptions) -> None:
    build(sound(3), options)
    outcomes = build(sound(5), options)
    assert compiler.compiled == [3, 2]
    assert [built(outcome).cached for outcome in outcomes] == [True, True, True, False, False]


def test_the_same_snippet_twice_is_built_once(compiler: FakeCompiler, options: CppOptions) -> None:
    (first, second) = build(sound(1) * 2, options)
    assert first == second
    assert compiler.compiled == [1]


def test_one_that_fails_does_not_stop_the_others(compiler: FakeCompiler, options: CppOptions) -> None:
    snippets = [*sound(4), CppSnippet("auto z = 1;\nauto y = FAIL;"), *sound(6)[4:]]
    outcomes = build(snippets, options)
    assert [isinstance(outcome, BuiltSnippet) for outcome in outcomes] == [True] * 4 + [False] + [True] * 2
    assert compiler.compiled == [7, 6]
    failure = outcomes[4]
    assert isinstance(failure, BuildError)
    assert failure.log == "stmt:2:1: error: it says FAIL\n    2 | auto y = FAIL;\n      | ^"
    assert failure.command is not None
    assert failure.exit_status == 1


def test_where_keeping_the_result_does_not_compile_the_statement_stands_as_it_is(
    compiler: FakeCompiler, options: CppOptions
) -> None:
    (outcome,) = build([CppSnippet("f(FAIL_KEPT);")], options)
    assert "sink" not in built(outcome).library.read_text()
    assert len(compiler.compiled) == 3


def test_a_missing_header_fails_all_that_include_it_at_once(compiler: FakeCompiler, options: CppOptions) -> None:
    snippets = [CppSnippet(f"auto y = {i};", global_setup="#include <FATAL>") for i in range(5)]
    outcomes = build([*snippets, *sound(1)], options)
    assert [isinstance(outcome, BuildError) for outcome in outcomes] == [True] * 5 + [False]
    assert "No such file" in str(outcomes[3])
    assert sorted(compiler.compiled) == [1, 5]


def test_failures_are_not_cached(compiler: FakeCompiler, options: CppOptions) -> None:
    snippet = CppSnippet("auto y = FAIL;")
    for _ in range(2):
        (outcome,) = build([snippet], options)
        assert isinstance(outcome, BuildError)
    assert len(compiler.compiled) == 2


@pytest.mark.lengthy
def test_everything_the_code_depends_on_is_in_the_key(
    compiler: FakeCompiler, options: CppOptions, tmp_path: Path
) -> None:
    from dataclasses import replace

    def symbol(snippet: CppSnippet, chosen: CppOptions = options, torch: TorchBuild = TORCH) -> str:
        return built(build([snippet], chosen, torch)[0]).symbol

    plain = CppSnippet("auto y = 1;")
    symbols = [
        symbol(plain),
        symbol(CppSnippet("auto y = 1; ")),
        symbol(CppSnippet("auto y = 1;", "int a;")),
        symbol(CppSnippet("auto y = 1;", "", "#include <map>")),
        symbol(plain, replace(options, extra_flags=("-O3",))),
        symbol(plain, replace(options, extra_flags=("-march=native",))),
        symbol(plain, replace(options, include_paths=(tmp_path,))),
        symbol(plain, torch=replace(TORCH, version="2.14.0")),
        symbol(plain, torch=replace(TORCH, cxx11_abi=False)),
        symbol(plain, torch=replace(TORCH, fingerprint="rebuilt")),
        symbol(plain, torch=replace(TORCH, library_paths=(Path("/elsewhere"),))),
    ]
    compiler.write("fake 2.0 is longer")
    symbols.append(symbol(plain))
    assert len(set(symbols)) == len(symbols)


def test_the_cpu_counts_only_where_a_flag_says_native(options: CppOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    from photometer.instruments.cpp import compiler as module

    assert module.host_cpu(("-O2", "-march=x86-64-v3")) == ""
    assert module.host_cpu(("-march=native",)) != ""


def test_progress_is_told_from_none_to_all(options: CppOptions) -> None:
    seen: list[BuildProgress] = []
    snippets = [*sound(3), CppSnippet("auto y = FAIL;")]
    build_snippets(snippets, torch_build=TORCH, options=options, progress=seen.append)
    assert seen[0] == BuildProgress(0, 4)
    assert seen[-1] == BuildProgress(4, 4)


def test_two_processes_that_want_the_same_compile_it_once(tmp_path: Path) -> None:
    compiler = FakeCompiler(tmp_path, seconds=0.5)
    script = (
        "import sys; from pathlib import Path\n"
        "from photometer.instruments.cpp.build import build_snippets\n"
        "from photometer.instruments.cpp.snippet import CppOptions, CppSnippet\n"
        "from photometer.instruments.cpp.torch_build import TorchBuild\n"
        "torch = TorchBuild((Path('/i'),), (Path('/l'),), '2', True)\n"
        "options = CppOptions(compiler=sys.argv[1], cache_folder=Path(sys.argv[2]))\n"
        "(outcome,) = build_snippets([CppSnippet('auto y = 1;')], torch_build=torch, options=options)\n"
        "sys.exit(not outcome.library.is_file())"
    )
    command = [sys.executable, "-c", script, str(compiler.path), str(tmp_path / "cache")]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert compiler.compiled == [1]


def test_nothing_is_left_behind_but_libraries(options: CppOptions) -> None:
    build([*sound(3), CppSnippet("auto y = FAIL;")], options)
    assert options.cache_folder is not None
    kinds = {entry.suffix or entry.name.partition("-")[0] for entry in options.cache_folder.iterdir()}
    assert kinds == {".so", ".json", "lock", "compiler"}


def test_the_compilers_temporary_files_go_with_the_build(
    options: CppOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    (built,) = build(sound(1), options)
    assert isinstance(built, BuiltSnippet)
    assert list(temporary.iterdir()) == []
    assert options.cache_folder is not None
    assert list(options.cache_folder.rglob("cc*.s")) == []
