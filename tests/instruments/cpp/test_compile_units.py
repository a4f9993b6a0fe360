"""Which snippets share a file; after a failure: what is compiled again, how, and what has failed for good."""

from __future__ import annotations

from photometer.instruments.cpp.compile_units import (
    CompileUnit,
    Guards,
    Retry,
    group_snippets,
    may_share,
    retry_after_failure,
)
from photometer.instruments.cpp.snippet import CppSnippet
from photometer.instruments.cpp.source import Guard, NamedSnippet, Prelude

DIGITS = "abcdef"


def group(*snippets: CppSnippet, alone: bool = False, jobs: int = 1) -> list[CompileUnit]:
    members = [NamedSnippet(snippet, f"photometer_{i:032x}") for i, snippet in enumerate(snippets)]
    return group_snippets(members, alone=alone, jobs=jobs)


def test_plain_snippets_share_one_file() -> None:
    units = group(*(CppSnippet(f"auto y = x + {i};", "auto x = torch::ones(3);") for i in range(20)))
    assert [(len(unit.members), unit.shared) for unit in units] == [(20, True)]


def test_a_macro_anywhere_stands_alone() -> None:
    for snippet in (
        CppSnippet("f();", global_setup="#define N 1"),
        CppSnippet("f();", "#define N 1"),
        CppSnippet("#undef N\nf();"),
    ):
        assert not may_share(snippet)
        units = group(CppSnippet("g();"), CppSnippet("h();"), snippet)
        assert sorted((len(unit.members), unit.shared) for unit in units) == [(1, False), (2, True)]


def test_only_the_same_includes_go_together() -> None:
    units = group(
        CppSnippet("a();", global_setup="#include <map>"),
        CppSnippet("b();", global_setup="\n  #include <map>\n"),
        CppSnippet("c();", global_setup="#include <set>"),
        CppSnippet("d();"),
    )
    assert sorted(tuple(m.snippet.stmt for m in unit.members) for unit in units) == [
        ("a();", "b();"),
        ("c();",),
        ("d();",),
    ]


def test_the_wide_prelude_is_not_forced_on_others_and_starts_first() -> None:
    units = group(CppSnippet("a();"), CppSnippet("b();"), CppSnippet("torch::nn::f();"))
    assert [(unit.prelude, len(unit.members)) for unit in units] == [(Prelude.EVERYTHING, 1), (Prelude.TENSOR, 2)]


def test_includes_that_the_prelude_has_do_not_separate() -> None:
    units = group(
        CppSnippet("a();", global_setup="#include <string>\n#include <vector>"),
        CppSnippet("b();"),
        CppSnippet("torch::jit::c();", global_setup="#include <torch/script.h>"),
        CppSnippet("torch::nn::d();"),
    )
    assert [len(unit.members) for unit in units] == [2, 2]
    assert "#include <vector>" not in next(unit.text for unit in units if unit.prelude is Prelude.TENSOR)


def test_there_are_as_many_files_as_compilers_make_use_of() -> None:
    few, many = ([CppSnippet(f"f({i});") for i in range(number)] for number in (9, 100))
    assert len(group(*few, jobs=8)) == 1
    assert len(group(*many, jobs=1)) == 1
    assert sorted(len(unit.members) for unit in group(*many, jobs=2)) == [50, 50]
    # Two files of their own kind keep both compilers busy.
    both = [*many[:40], *(CppSnippet(f"torch::nn::f({i});") for i in range(20))]
    assert sorted(len(unit.members) for unit in group(*both, jobs=2)) == [20, 40]


def test_alone_means_alone() -> None:
    units = group(CppSnippet("a();"), CppSnippet("b();"), alone=True)
    assert [(len(unit.members), unit.shared) for unit in units] == [(1, False), (1, False)]


def unit_of(*snippets: CppSnippet, guards: Guards = Guards.KEPT, shared: bool = True) -> CompileUnit:
    members = tuple(NamedSnippet(s, f"photometer_{DIGITS[i] * 32}") for i, s in enumerate(snippets))
    return CompileUnit(members, Prelude.TENSOR, shared, guards)


def error(index: int, part: str, line: int, message: str, guard: str = "kept") -> str:
    return f"photometer_{DIGITS[index] * 32}.{guard}/{part}:{line}:1: error: {message}\n"


def after(unit: CompileUnit, log: str) -> Retry:
    return retry_after_failure(unit, log, hopeless=False)


def summary(retry: Retry) -> list[tuple[list[str], Guards, Prelude, bool]]:
    return [([m.snippet.stmt for m in u.members], u.guards, u.prelude, u.shared) for u in retry.units]


def test_an_error_that_is_surely_the_users_is_final_and_the_others_go_on() -> None:
    unit = unit_of(CppSnippet("auto y = x.summ();"), CppSnippet("auto z = 1;"), CppSnippet("auto w = 2;"))
    retry = after(unit, error(0, "stmt", 1, "no member named ‘summ’"))
    assert [m.snippet.stmt for m in retry.failed] == ["auto y = x.summ();"]
    assert summary(retry) == [(["auto z = 1;", "auto w = 2;"], Guards.KEPT, Prelude.TENSOR, True)]


def test_an_unknown_name_is_tried_with_all_of_torch() -> None:
    unit = unit_of(CppSnippet("auto y = torch::rare();"))
    retry = after(unit, error(0, "stmt", 1, "‘rare’ is not a member of ‘torch’"))
    assert summary(retry) == [(["auto y = torch::rare();"], Guards.BOTH, Prelude.EVERYTHING, True)]
    (wider,) = retry.units
    assert after(wider, error(0, "stmt", 1, "‘rare’ is not a member of ‘torch’", "plain")).failed == wider.members


def test_where_keeping_the_result_may_be_to_blame_both_ways_are_tried() -> None:
    for log in (error(0, "stmt", 1, "expected primary-expression"), error(0, "photometer", 2, "cannot bind bit-field")):
        retry = after(unit_of(CppSnippet("f(x);")), log)
        assert summary(retry) == [(["f(x);"], Guards.BOTH, Prelude.TENSOR, True)]


def test_an_error_in_the_setup_is_not_blamed_on_keeping() -> None:
    unit = unit_of(CppSnippet("f(x);", "int x = ;"))
    assert after(unit, error(0, "setup", 1, "expected primary-expression")).failed == unit.members


def test_what_compiles_only_as_it_stands_is_compiled_as_it_stands() -> None:
    unit = unit_of(CppSnippet("f(x);"), guards=Guards.BOTH)
    retry = after(unit, error(0, "stmt", 1, "expected primary-expression", "kept"))
    assert summary(retry) == [(["f(x);"], Guards.PLAIN, Prelude.TENSOR, True)]


def test_what_fails_as_it_stands_has_failed() -> None:
    unit = unit_of(CppSnippet("f(x);"), guards=Guards.BOTH)
    log = error(0, "stmt", 1, "expected ;", "plain") + error(0, "stmt", 1, "expected ;", "kept")
    assert after(unit, log) == Retry(failed=unit.members)
    assert unit.reported_guard is Guard.PLAIN


def test_file_level_code_is_tried_at_file_level() -> None:
    unit = unit_of(CppSnippet("auto y = f();", global_setup="int f() { return ::g(); }"))
    retry = after(unit, error(0, "global_setup", 1, "expected something"))
    assert summary(retry) == [(["auto y = f();"], Guards.BOTH, Prelude.TENSOR, False)]


def test_an_error_of_nobody_halves_the_file() -> None:
    unit = unit_of(*(CppSnippet(f"auto y = {i};") for i in range(5)))
    retry = after(unit, "/x.h:1:1: error: rotten\n")
    assert [len(u.members) for u in retry.units] == [2, 3]
    assert retry.failed == ()
    single = unit_of(CppSnippet("auto y = 1;"), shared=False, guards=Guards.PLAIN)
    assert after(single, "/x.h:1:1: error: rotten\n").failed == single.members


def test_the_hopeless_all_fail() -> None:
    unit = unit_of(CppSnippet("a();"), CppSnippet("b();"))
    assert retry_after_failure(unit, "", hopeless=True) == Retry(failed=unit.members)


def test_every_way_comes_to_an_end() -> None:
    """Whatever the compiler says, the same log again and again leads to a verdict."""
    snippet = CppSnippet("f(x);", global_setup="int f(int x) { return x; }")
    for guard in ("kept", "plain"):
        for part in ("stmt", "photometer", "global_setup"):
            log = error(0, part, 1, "‘x’ was not declared", guard)
            units, rounds = [unit_of(snippet)], 0
            while units:
                rounds += 1
                assert rounds < 8
                units = [following for unit in units for following in after(unit, log).units]
