"""A compiler's log, whose error is whose, and what the user gets to read. The logs are g++ 12's."""

from __future__ import annotations

from photometer.instruments.cpp.diagnostics import errors_of, message_for, owners_of_errors, read_diagnostics
from photometer.instruments.cpp.snippet import CppSnippet

A, B = f"photometer_{'a' * 32}", f"photometer_{'b' * 32}"

TYPO = f"""\
{A}.kept/stmt: In lambda function:
{A}.kept/stmt:2:5: error: ‘class at::Tensor’ has no member named ‘summ’; did you mean ‘smm’?
{B}.kept/setup: In function ‘photometer::Blocks {B}_space::{B}_kept_blocks()’:
{B}.kept/setup:1:25: error: expected ‘)’ before ‘;’ token
"""
TEMPLATE = f"""\
In file included from /usr/include/c++/12/bits/stl_algobase.h:71,
                 from snippets.cpp:1:
/usr/include/c++/12/bits/predefined_ops.h: In instantiation of ‘bool f(T) [with T = int]’:
/usr/include/c++/12/bits/stl_algo.h:1809:14:   required from ‘void sort(T) [with T = int]’
{B}.kept/stmt:1:30:   required from here
/usr/include/c++/12/bits/predefined_ops.h:158:30: error: expression cannot be used as a function
  158 |         {{ return bool(_M_comp(*__it1, *__it2)); }}
      |                       ~~~~~~~^~~~~~~~~~~~~~~~
"""
LINKER = f"""\
/usr/bin/ld: /tmp/ccX.o: in function `{A}_space::{A}_kept_blocks({A}_space::Frame*)':
snippets.cpp:(.text+0x18e): undefined reference to `f(int)'
collect2: error: ld returned 1 exit status
"""
NOBODY = "/torch/include/c10/x.h:1:1: error: something is rotten\n"
WARNING = f"{A}.kept/stmt:1:1: warning: something is odd\n"


def owners(log: str) -> set[str] | None:
    return owners_of_errors(read_diagnostics(log), [A, B])


def test_errors_are_told_apart_by_their_names() -> None:
    assert owners(TYPO) == {A, B}
    assert owners(TYPO.split(f"{B}.kept/setup: In")[0]) == {A}


def test_an_error_in_a_header_belongs_to_who_required_it() -> None:
    assert owners(TEMPLATE) == {B}
    assert owners(TYPO + TEMPLATE) == {A, B}


def test_the_linker_names_the_function() -> None:
    assert owners(LINKER) == {A}


def test_an_error_that_names_nobody_is_said_to() -> None:
    assert owners(NOBODY) is None
    assert owners(TYPO + NOBODY) is None


def test_warnings_blame_nobody() -> None:
    assert owners(WARNING + TEMPLATE) == {B}


def test_errors_of_one_variant_only() -> None:
    log = TYPO.replace(f"{A}.kept", f"{A}.plain")
    assert len(errors_of(read_diagnostics(log), f"{A}.plain")) == 1
    assert errors_of(read_diagnostics(log), f"{A}.kept") == []


def test_the_message_shows_the_users_line_and_none_of_our_names() -> None:
    message = message_for(TYPO, f"{A}.kept", CppSnippet("auto y =\n  x.summ();"))
    assert message.splitlines() == [
        "stmt:2:5: error: ‘class at::Tensor’ has no member named ‘summ’; did you mean ‘smm’?",
        "    2 |   x.summ();",
        "      |     ^",
    ]


def test_the_message_of_a_template_error_leads_to_the_users_line() -> None:
    message = message_for(TEMPLATE, f"{B}.kept", CppSnippet("std::vector<int> v; std::sort(v.begin(), v.end(), 3);"))
    assert "stmt:1:30:   required from here" in message
    assert "expression cannot be used as a function" in message
    assert "In file included" not in message
    assert "photometer_" not in message


def test_the_pointer_stands_below_the_column_after_tabs_too() -> None:
    log = f"{A}.kept/stmt:1:3: error: no\n"
    shown, pointer = message_for(log, f"{A}.kept", CppSnippet("\t\tbad")).splitlines()[1:]
    assert shown[8:] == "\t\tbad"
    assert pointer[8:] == "\t\t^"


def test_a_cascade_is_cut() -> None:
    log = "".join(f"{A}.kept/stmt:1:1: error: number {i}\n" for i in range(100))
    message = message_for(log, f"{A}.kept", CppSnippet("x"))
    assert "number 0" in message
    assert "number 99" not in message
    assert message.endswith("more lines")


def test_a_place_outside_the_text_is_not_shown() -> None:
    log = f"{A}.kept/stmt:9:1: error: expected ‘}}’ at end of input\n"
    assert message_for(log, f"{A}.kept", CppSnippet("x")) == "stmt:9:1: error: expected ‘}’ at end of input"
