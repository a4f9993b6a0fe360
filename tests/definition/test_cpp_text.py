"""Comments, literals and directives of C++, told from code; and statements that have them at their end."""

from __future__ import annotations

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, GroupedVariants, iter_parsed_lines, parse_stmts
from photometer.definition.cpp_text import blanked, runs_on, without_directives
from photometer.errors import DefinitionError
from photometer.instruments.cpp.source import is_self_contained
from photometer.plan import materialize

SETUP = GroupedSetup("x = torch.ones(1)", "auto x = torch::ones({1}); // the input")


def test_blanking_keeps_every_offset_and_line() -> None:
    text = 'a("// no", \'"\'); // note\nR"x(\n"})x" /* { \n */ b'
    bare = blanked(text)
    assert len(bare) == len(text)
    assert [i for i, c in enumerate(bare) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]
    assert "{" not in bare
    assert "}" not in bare
    assert "note" not in bare


def test_a_comment_that_a_backslash_continues() -> None:
    assert blanked("a; // note \\\n still } note\nb;").split() == ["a;", "b;"]
    assert runs_on("a; // note \\  ")
    assert not runs_on("a; // note")
    assert not is_self_contained("a; // note \\")


def test_numbers_with_separators_are_not_characters() -> None:
    assert blanked("f(1'000, g(2'000))") == "f(1'000, g(2'000))"


def test_directives_with_the_lines_that_continue_them() -> None:
    text = "#define N \\\n 3\na;\n  # endif\n%:pragma x"
    assert without_directives(text).split() == ["a;"]
    assert len(without_directives(text)) == len(text)


ENDINGS = [
    "x + 1; // c",
    "x + 1; /* c */",
    "x + 1;\n// c",
    "x + 1;\n/* c\n   d */",
    "{ x + 1; } // }",
    "x + 1; // a; b } /* c",
    "x + 1; /* ; // */ // d */",
    "#ifdef A\nx + 1;\n#else\nx + 2;\n#endif",
    "#ifdef A\nx + 1;\n#endif // A",
    "x + 1;\n#pragma GCC diagnostic pop \\\n  // more",
    "f(x, 1'000, g(2'000));",
    'x.index({"// no"}); // yes',
]


@pytest.mark.parametrize("stmt", ENDINGS)
def test_a_statement_may_end_in_comments_and_directives(stmt: str) -> None:
    group = GroupedStmts(cpp_stmt=stmt, setup=SETUP)
    (order,) = materialize({"a": group})
    assert order.args.stmt == stmt


@pytest.mark.parametrize(
    ("stmt", "message", "marked"),
    [
        ("x + 1 // c;", "does not end in a semicolon", "x + 1 // c;"),
        ("x + 1\n// c;\n", "does not end in a semicolon", "x + 1"),
        ("x + 1; x /* ; */", "does not end in a semicolon", "x + 1; x /* ; */"),
        ('x + "a;"', "does not end in a semicolon", 'x + "a;"'),
        ("// only", "has no code, only comments or directives", "// only"),
        ("#pragma once", "has no code, only comments or directives", "#pragma once"),
        ("x + 1; /* c", "the comment has no end", "x + 1; /* c"),
        ("x + 1; // c \\", "ends in a backslash", "x + 1; // c \\"),
    ],
)
def test_what_does_not_end_a_statement(stmt: str, message: str, marked: str) -> None:
    with pytest.raises(DefinitionError, match=rf"test_cpp_text.py:\d+: .*{message}") as caught:
        GroupedStmts(cpp_stmt=stmt, setup=SETUP)
    rows = str(caught.value.log).splitlines()
    assert rows[next(i for i, row in enumerate(rows) if "^" in row) - 1].endswith(f"| {marked}")


def test_a_name_in_a_comment_is_not_read() -> None:
    with pytest.raises(DefinitionError, match=r"the C\+\+ statement does not read it"):
        GroupedStmts("y = x + 1", "auto y = 1; // x", setup=SETUP, signature="f(x) -> y")


def test_generated_code_stands_below_a_comment() -> None:
    """What follows the statement must not become a part of its comment."""
    group = GroupedStmts(
        "y = x * w",
        "auto y = x * w; // product",
        GroupedSetup("x = torch.ones(1)\nw = torch.ones(1)", "auto x = torch::ones({1}); auto w = x; // inputs"),
        signature="f(x, w) -> y",
        autograd=True,
    )
    for probe in (False, True):
        for order in materialize({"a": group}, probe=probe):
            for line in (order.args.stmt + "\n" + order.args.setup).splitlines():
                if "//" in line:
                    assert line.endswith(("// product", "// inputs"))


def test_a_table_with_comments_at_its_end() -> None:
    table = """
        Python             | C++
        ------------------ | ------------------
        # Inputs           | // Inputs
        y = x + 1          | auto y = x + 1; // sum
                           |
        # Done             | /* Done */
    """
    py_stmt, cpp_stmt = parse_stmts(table)
    assert cpp_stmt == "// Inputs\nauto y = x + 1; // sum\n\n/* Done */"
    assert GroupedStmts(py_stmt, cpp_stmt, setup=SETUP).cpp_fwd_stmt == cpp_stmt
    assert list(iter_parsed_lines(table)) == [("y = x + 1", "auto y = x + 1; // sum")]


def test_a_block_with_comments() -> None:
    groups = GroupedVariants(
        """
        # @setup
        x = torch.ones(1)
        # @a
        x + 1
        x + 2
        """,
        """
        // @setup
        auto x = torch::ones({1}); // input
        // @a
        x + 1; // one
        /* x + 2 is in Python only */
        // the end
        """,
    )
    assert [(group.py_fwd_stmt, group.cpp_fwd_stmt) for group in groups.values()] == [
        ("x + 1", "x + 1; // one"),
        ("x + 2", None),
    ]


def test_a_comment_of_several_lines_in_a_block() -> None:
    groups = GroupedVariants("", "// @a\n/* first\n   second */\nx + 1; /* c */")
    assert [group.cpp_fwd_stmt for group in groups.values()] == ["x + 1; /* c */"]
