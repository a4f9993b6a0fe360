"""The generated C++: what stands where, and that the user's lines keep their numbers."""

from __future__ import annotations

import pytest

from photometer.instruments.cpp.snippet import CppSnippet
from photometer.instruments.cpp.source import (
    Guard,
    NamedSnippet,
    Prelude,
    choose_prelude,
    own_file,
    shared_file,
    sunk_lines,
)

SYMBOL = f"photometer_{'a' * 32}"


def named(stmt: str, setup: str = "", global_setup: str = "", symbol: str = SYMBOL) -> NamedSnippet:
    return NamedSnippet(CppSnippet(stmt, setup, global_setup), symbol)


@pytest.mark.parametrize(
    ("stmt", "prelude"),
    [
        ("auto y = x * w;", Prelude.TENSOR),
        ("auto y = torch::nn::functional::relu(x);", Prelude.EVERYTHING),
        ("auto y = model.forward(inputs); torch::jit::IValue v;", Prelude.EVERYTHING),
        ("auto y = x.data_ptr();", Prelude.TENSOR),
    ],
)
def test_the_prelude_follows_the_words_used(stmt: str, prelude: Prelude) -> None:
    assert choose_prelude(CppSnippet(stmt)) is prelude


def test_every_part_stands_under_its_own_line_one() -> None:
    text = own_file(named("S1\nS2", "T1", "G1"), Prelude.TENSOR, [Guard.KEPT])
    for part, code in (("stmt", "S1\nS2"), ("setup", "T1"), ("global_setup", "G1")):
        assert f'#line 1 "{SYMBOL}.kept/{part}"\n{code}\n#line 1 "{SYMBOL}.kept/photometer"' in text


def test_a_shared_file_puts_file_level_code_into_namespaces_and_includes_above() -> None:
    other = f"photometer_{'b' * 32}"
    members = [
        named("A", global_setup="#include <map>\nint f() { return 1; }"),
        named("B", global_setup="#include <map>\nint f() { return 2; }", symbol=other),
    ]
    text = shared_file(members, Prelude.TENSOR, [Guard.KEPT])
    assert text.count("#include <map>") == 1
    assert text.index("#include <map>") < text.index(f"namespace {SYMBOL}_space {{") < text.index("return 1;")
    assert text.index("return 1;") < text.index(f"namespace {other}_space {{") < text.index("return 2;")
    assert f"void* {SYMBOL}(" in text
    assert f"void* {other}(" in text


def test_an_own_file_has_file_level_code_at_file_level() -> None:
    text = own_file(named("A", global_setup="#define N 1"), Prelude.TENSOR, [Guard.KEPT])
    assert "namespace" not in text
    assert text.index("#define N 1") < text.index("A\n")


def test_results_are_kept() -> None:
    text = own_file(named("auto y = a * b;\nstd::sqrt(y);"), Prelude.TENSOR, [Guard.KEPT])
    assert "auto y = a * b;\nphotometer::sink, std::sqrt(y);" in text
    assert "; photometer::keep(y);" in text


def test_the_plain_variant_leaves_the_statement_as_it_stands() -> None:
    text = own_file(named("auto y = a * b;\nstd::sqrt(y);"), Prelude.TENSOR, [Guard.PLAIN])
    assert "auto y = a * b;\nstd::sqrt(y);\n" in text
    assert "sink" not in text
    assert "keep(" not in text


def test_with_both_variants_the_kept_one_is_started() -> None:
    text = own_file(named("f(a);"), Prelude.TENSOR, [Guard.PLAIN, Guard.KEPT])
    assert f"open_blocks({SYMBOL}_kept_blocks," in text
    assert f"{SYMBOL}.plain/stmt" in text


def test_a_comment_at_the_end_does_not_swallow_the_loop() -> None:
    text = own_file(named("f(a) // last", "int a = 1; // last"), Prelude.TENSOR, [Guard.KEPT])
    assert "// last\n#line" in text


def test_sunk_lines_are_counted_from_one() -> None:
    assert sunk_lines("int a = 1;\n\nf(a);\nauto y = g(a);\nx.h();") == {3, 5}
