"""Who shares a file with whom."""

from __future__ import annotations

from photometer.instruments.cpp.grouping import Unit, group_snippets, may_share
from photometer.instruments.cpp.snippet import CppSnippet
from photometer.instruments.cpp.source import NamedSnippet, Prelude


def group(*snippets: CppSnippet, alone: bool = False, per_file: int = 40) -> list[Unit]:
    members = [NamedSnippet(snippet, f"photometer_{i:032x}") for i, snippet in enumerate(snippets)]
    return group_snippets(members, alone=alone, per_file=per_file)


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


def test_many_are_spread_evenly_over_files() -> None:
    units = group(*(CppSnippet(f"f({i});") for i in range(9)), per_file=4)
    assert sorted(len(unit.members) for unit in units) == [3, 3, 3]


def test_alone_means_alone() -> None:
    units = group(CppSnippet("a();"), CppSnippet("b();"), alone=True)
    assert [(len(unit.members), unit.shared) for unit in units] == [(1, False), (1, False)]
