"""Python and C++ in one text: tables, and blocks with one benchmark per line."""

from __future__ import annotations

import pytest

from photometer.definition import GroupedVariants, iter_parsed_lines, parse_stmts
from photometer.errors import DefinitionError


def test_statements_keep_their_inner_indentation() -> None:
    assert parse_stmts("""
        Python      | C++
        ----------- | ------------
        z = f(      | auto z = f(
            x | y,  |     x | y,
        )           | );
    """) == ("z = f(\n    x | y,\n)", "auto z = f(\n    x | y,\n);")


def test_a_column_may_be_shorter() -> None:
    assert parse_stmts("""
        Python | C++
        ------ | ---
        f()    | int n = 1;
               | f(n);
    """) == ("f()", "int n = 1;\nf(n);")


def test_rows_as_pairs() -> None:
    rows = iter_parsed_lines("""
        Python | C++
        ------ | ---
        [0]    | {0}

        [...]  | {Ellipsis}
    """)
    assert list(rows) == [("[0]", "{0}"), ("[...]", "{Ellipsis}")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("Python | C++\n------ | ---", "no line of code"),
        ("Python | Rust\n------ | ---\nf()    | g();", "head is not"),
        ("Python   C++\n------ | ---\nf()    | g();", "head is not"),
        ("Python | C++\nf()    | g();\nh()    | i();", "second line is not a rule"),
        ("Python | C++\n------ | ---\nf(1, 2, 3) | g();", "the bar is not below"),
        ("Python | C++\n------ | ---\nf()", "the bar is not below"),
        ("Python | C++\n------ | ---\nabcdef|g();", "the bar is not below"),
    ],
)
def test_mistakes_in_a_table(table: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        parse_stmts(table)
    assert "Python | C++" in str(caught.value.remedy)


def test_lines_are_paired_under_their_labels() -> None:
    groups = GroupedVariants(
        """
        # @setup
        x = torch.ones(3)

        # @add
        x + 1
        x + 2
        # @python only
        x.tolist()
        """,
        """
        // @global_setup
        #include <cmath>
        // @Setup
        auto x = torch::ones({3});
        // @add
        x + 1;
        x + 2;
        // @c++ only
        x.sizes();
        """,
    )
    assert {label: (group.py_fwd_stmt, group.cpp_fwd_stmt) for label, group in groups.items()} == {
        ("add", "case 0"): ("x + 1", "x + 1;"),
        ("add", "case 1"): ("x + 2", "x + 2;"),
        ("python only",): ("x.tolist()", None),
        ("c++ only",): (None, "x.sizes();"),
    }
    setup = groups["add", "case 0"].setup
    assert setup.py_setup == "x = torch.ones(3)"
    assert setup.cpp_setup == "auto x = torch::ones({3});"
    assert setup.global_setup == "#include <cmath>"


def test_blank_lines_and_comments_hold_a_place() -> None:
    groups = GroupedVariants("# @a\nf()\n# not in C++\ng()", "// @a\nf();\nh();\n")
    assert [(group.py_fwd_stmt, group.cpp_fwd_stmt) for group in groups.values()] == [
        ("f()", "f();"),
        (None, "h();"),
        ("g()", None),
    ]


def test_lines_above_the_first_label_have_none() -> None:
    assert list(GroupedVariants("f()\ng()")) == [("case 0",), ("case 1",)]


def test_threads_and_tags_reach_every_line() -> None:
    (group,) = GroupedVariants("# @a\nf()", num_threads=(1, 2), tags="quick").values()
    assert (group.num_threads, group.tags) == ((1, 2), ("quick",))


@pytest.mark.parametrize(
    ("py_block", "cpp_block", "message", "below"),
    [
        ("# @a\nf()\n# @a\ng()", "", "label 'a' appears twice", "@a"),
        ("# @setup\nx = 1\n# @Setup\nx = 2\n# @a\nx", "", "label 'setup' appears twice", "@Setup"),
        ("", "// @b\nf();\n// @b\ng();", "label 'b' appears twice", "@b"),
        ("# @global_setup\nimport os\n# @a\nf()", "", "Python has no global_setup", "@global_setup"),
        ("# @\nf()", "", "label without a name", "@"),
        ("# @a\nfor x in y:\n    f(x)", "", "a line of py_block is not Python", ""),
        ("# @a\nf(1,", "", "a line of py_block is not Python", "("),
    ],
)
def test_mistakes_are_shown(py_block: str, cpp_block: str, message: str, below: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        GroupedVariants(py_block, cpp_block)
    rows = str(caught.value.log).splitlines()
    caret = next(number for number, row in enumerate(rows) if "^" in row)
    assert rows[caret - 1][rows[caret].index("^") :].startswith(below)


@pytest.mark.parametrize("block", ["", "# @setup\nx = 1", "# @a\n\n"])
def test_blocks_without_code(block: str) -> None:
    with pytest.raises(DefinitionError, match="no line of code"):
        GroupedVariants(block)
