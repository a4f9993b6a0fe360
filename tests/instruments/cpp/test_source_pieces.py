"""Cutting C++ text: pieces, declared names, expressions, and what may share a file."""

from __future__ import annotations

import pytest

from photometer.instruments.cpp.source import (
    declared_names,
    has_directive,
    is_expression,
    is_self_contained,
    may_share_a_file,
    split_includes,
    top_level_pieces,
)


def names(text: str) -> list[str]:
    return [name for piece in top_level_pieces(text) for name in declared_names(piece)]


def expressions(text: str) -> list[str]:
    return [piece.text for piece in top_level_pieces(text) if is_expression(piece)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto y = x * w;", ["y"]),
        ("const auto& y = f(x);", ["y"]),
        ("torch::Tensor y(x);", ["y"]),
        ("std::vector<torch::jit::IValue> inputs({a, b});", ["inputs"]),
        ("unsigned long n = 1'000'000; double s{0};", ["n", "s"]),
        ("auto [values, indices] = x.max(0);", ["values", "indices"]),
        ('auto text = "int z = 3; // no";', ["text"]),
        ("for (int i = 0; i < 3; ++i) { int inner = i; }\nint after = 1;", ["after"]),
        ("if (a) { int b = 1; } else { int c = 2; }", []),
        ("auto f = [&] { int inner = 1; return inner; };", ["f"]),
        ("int array[3] = {1, 2, 3};", ["array"]),
        ("return x;", []),
        ("delete p;", []),
        ("x = y * z;", []),
        ("/* int a = 1; */ int b = 2", ["b"]),
    ],
)
def test_declared_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("std::sqrt(a);", ["std::sqrt(a);"]),
        ("x.add_(1); p->run(); v[0]", ["x.add_(1);", "p->run();", "v[0]"]),
        ("at::native::f<int>(a);", ["at::native::f<int>(a);"]),
        ("TORCH_CHECK(a > 0);", []),
        ("if (a) f(a);", []),
        ("while (g()) { f(); }", []),
        ("auto y = f(a);", []),
        ("return f(a);", []),
        ("x * y;", []),
    ],
)
def test_expressions_whose_value_is_dropped(text: str, expected: list[str]) -> None:
    assert expressions(text) == expected


def test_a_piece_knows_where_it_begins() -> None:
    text = "int a = 1;\n  /* note */ f(a);"
    second = top_level_pieces(text)[1]
    assert text[second.start :] == "f(a);"


@pytest.mark.parametrize("text", ["f(", "}", "(]", "/* open", 'auto s = "open;', "auto c = 'o;", "int a = 1; \\"])
def test_text_that_could_swallow_its_neighbour(text: str) -> None:
    assert not is_self_contained(text)


@pytest.mark.parametrize("text", ["", "f({1, 2});", "auto c = '\"'; // it's", "auto n = 1'000;", 'auto r = R"(")";'])
def test_text_that_ends_where_it_ends(text: str) -> None:
    assert is_self_contained(text)


@pytest.mark.parametrize("text", ["#define N 1", "  # if 1", "%: define N 1", 'int a;\n_Pragma("once")'])
def test_directives_are_seen(text: str) -> None:
    assert has_directive(text)


@pytest.mark.parametrize("text", ["int a = b % c;", '"#define"', "// #define N", 'auto s = R"(\n#define N\n)";'])
def test_what_only_looks_like_a_directive(text: str) -> None:
    assert not has_directive(text)


def test_includes_are_taken_out_and_lines_stay() -> None:
    includes, rest = split_includes(
        '#include <map>\nint f();\n  #  include "a b.h" // mine\n#define N 1\n// #include <no>'
    )
    assert includes.split("\n") == ["#include <map>", "", '  #  include "a b.h" // mine', "", ""]
    assert rest.split("\n") == ["", "int f();", "", "#define N 1", "// #include <no>"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "using namespace torch;\nusing T = torch::Tensor;",
        'static_assert(sizeof(int) == 4, "int = 32 bits");',
        "torch::Tensor f(torch::Tensor x) { auto y = x; return y; }",
        "template <typename T> T twice(T x) { return x + x; }",
        "struct Point { int x = 0; };",
        "inline auto g(int x) -> int { return x; } // done",
        "int f() noexcept { return 1; } int g() { return f(); }",
    ],
)
def test_file_level_code_that_may_share(text: str) -> None:
    assert may_share_a_file(text)


@pytest.mark.parametrize(
    "text",
    [
        "#define N 3",
        "int counter = 0;",
        "static std::vector<int> v{1, 2};",
        "auto registered = [] { return 1; }();",
        "TORCH_LIBRARY(mine, m) { m.def(f); }\nint x;",
        "namespace std { template <> struct hash<P> { }; }",
        "template <> int f<int>() { return 1; }",
        'extern "C" int f();',
        "int f(int);",
    ],
)
def test_file_level_code_that_may_not(text: str) -> None:
    assert not may_share_a_file(text)
