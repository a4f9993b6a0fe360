"""GroupedStmts and GroupedModules: the seed's example, and every mistake shown where it is."""

from __future__ import annotations

from typing import Any

import pytest

from photometer.definition import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts
from photometer.errors import DefinitionError

SETUP = GroupedSetup(
    py_setup="""
        x = torch.ones((4, 4))
        w = torch.ones((4, 4), requires_grad=True)
    """,
    cpp_setup="""
        auto x = torch::ones({4, 4});
        auto w = torch::ones({4, 4});
        w.set_requires_grad(true);
    """,
)


def stmts(py: str | None = "y = x * w", cpp: str | None = "auto y = x * w;", **more: Any) -> GroupedBenchmark:
    return GroupedStmts(py, cpp, **{"setup": SETUP, "signature": "f(x, w) -> y", **more})


def test_the_names_that_the_seed_uses() -> None:
    benchmark = stmts(torchscript=True, autograd=True)
    assert benchmark.py_fwd_stmt == "y = x * w"
    assert benchmark.cpp_fwd_stmt == "auto y = x * w;"
    assert benchmark.setup.py_setup.splitlines()[0] == "x = torch.ones((4, 4))"
    assert benchmark.setup.cpp_setup.endswith("w.set_requires_grad(true);")
    assert (benchmark.signature_args, benchmark.signature_output) == (("x", "w"), "y")
    assert GroupedStmts == GroupedBenchmark.init_from_stmts
    assert GroupedModules == GroupedBenchmark.init_from_model


def test_modules_are_called_by_the_signature() -> None:
    benchmark = GroupedModules(
        "model = torch.nn.ReLU()", "auto model = torch::nn::ReLU();", SETUP, signature="f(x) -> y"
    )
    assert benchmark.py_fwd_stmt == "y = model(x)"
    assert benchmark.cpp_fwd_stmt == "auto y = model->forward(x);"


def test_a_module_in_one_language_has_no_statement_in_the_other() -> None:
    benchmark = GroupedModules("def model(x):\n    return x", setup=SETUP, signature="f(x) -> None")
    assert benchmark.py_fwd_stmt == "model(x)"
    assert benchmark.cpp_fwd_stmt is None


def test_tags_and_places_do_not_make_another_benchmark() -> None:
    assert stmts(tags="quick") == stmts(tags=("slow", "odd"), timeout_seconds=3)
    assert stmts(num_threads=2) != stmts()


def test_setup_may_hide_what_it_makes() -> None:
    hidden = GroupedSetup("exec('x = w = 1')", SETUP.cpp_setup)
    assert stmts(setup=hidden).signature_args == ("x", "w")


def test_statement_may_use_what_the_setup_imports_or_defines() -> None:
    setup = GroupedSetup(SETUP.py_setup + "\nimport torch.nn.functional as F\ndef g(t):\n    return t", SETUP.cpp_setup)
    assert stmts("y = F.relu(g(x * w)) + len([x])", setup=setup).autograd is False


MISTAKES: list[tuple[str, dict[str, Any], str, str]] = [
    # name, arguments, message, what the caret is below
    ("signature does not parse", {"signature": "f(x, w -> y"}, "does not parse", "-"),
    ("argument not read", {"py": "y = x"}, "names w, but the Python", "w"),
    ("argument not read in C++", {"cpp": "auto y = x;"}, r"names w, but the C\+\+", "w"),
    ("output not assigned", {"signature": "f(x, w) -> z"}, "names z, but the Python", "z"),
    ("output not assigned in C++", {"cpp": "x * w;"}, r"names y, but the C\+\+", "y"),
    ("name not in the signature", {"py": "y = x * w + bias"}, "reads bias", "bias"),
    ("argument not made", {"setup": GroupedSetup("x = 1", SETUP.cpp_setup)}, "w, which py_setup", "w"),
    ("argument not made in C++", {"setup": GroupedSetup(SETUP.py_setup, "int x;")}, "w, which cpp_setup", "w"),
    ("autograd without output", {"signature": "f(x, w) -> None", "autograd": True}, "without an output", "None"),
    ("Python syntax", {"py": "y = x * * w"}, "py_stmt is not Python", "*"),
    ("Python setup syntax", {"setup": GroupedSetup("x = (", SETUP.cpp_setup)}, "py_setup is not Python", "("),
    ("C++ bracket", {"cpp": "auto y = (x * w];"}, "has no matching bracket", "]"),
    ("C++ open bracket", {"cpp": "auto y = f(x * w;"}, "has no matching bracket", "("),
    ("C++ semicolon", {"cpp": "auto y = x * w"}, "semicolon", ""),
    ("device not used", {"devices": ("cpu", "cuda")}, "does not use `device`", "x"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message", "below"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES]
)
def test_mistake_is_shown(arguments: dict[str, Any], message: str, below: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        stmts(**arguments)
    assert str(caught.value).startswith("test_grouped.py:")
    rows = str(caught.value.log).splitlines()
    caret = next(number for number, row in enumerate(rows) if row.strip(" |").strip("^") == "" and "^" in row)
    assert rows[caret - 1][rows[caret].index("^") :].startswith(below)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signature": None, "torchscript": True}, "torchscript=True without a signature"),
        ({"signature": None, "autograd": True}, "autograd=True without a signature"),
        ({"signature": None, "compiled": True}, "compiled=True without a signature"),
        ({"py": None, "torchscript": True}, "need Python"),
        ({"py": None, "cpp": None}, "nothing to run"),
        ({"py": "  "}, "py_stmt is empty"),
        ({"py": 3}, "not text"),
        ({"setup": "x = 1"}, "setup is 'x = 1'"),
        ({"num_threads": (1, 1)}, "num_threads"),
        ({"num_threads": ()}, "num_threads"),
        ({"num_threads": 0}, "num_threads"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"tags": "two words"}, "tags"),
        ({"sizes": {"x": (1, 2)}}, "defined by the sweep and named in the signature"),
    ],
)
def test_other_mistakes(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        stmts(**arguments)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("modle = 1", None), "py_model_setup does not define `model`"),
        (("model.eval()", None), "py_model_setup does not define `model`"),
        ((None, "auto modle = f();"), "cpp_model_setup does not define `model`"),
        (("model = (", None), "py_model_setup is not Python"),
    ],
)
def test_a_module_without_a_model(arguments: tuple[str | None, str | None], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        GroupedModules(*arguments, SETUP, signature="f(x) -> y")


def test_a_module_without_a_signature() -> None:
    with pytest.raises(DefinitionError, match="module without a signature"):
        GroupedModules("model = 1", None, SETUP)


def test_brackets_in_strings_and_comments_do_not_count() -> None:
    benchmark = GroupedStmts(None, "f(\"(\", '['); // {\ng(/* ) */);")
    assert benchmark.cpp_fwd_stmt is not None


def test_setup_without_text_is_an_error() -> None:
    with pytest.raises(DefinitionError, match="py_setup is 3"):
        GroupedSetup(3)  # type: ignore[arg-type]


def test_what_fails_is_written_as_for_the_command() -> None:
    assert stmts().fail_on is None
    assert stmts(fail_on="slower:5%").fail_on == ("slower:5%",)
    assert stmts(fail_on=("slower", "memory:0")) == stmts(fail_on="never")


@pytest.mark.parametrize("wrong", ["faster", "", (), 5, "slower:5%, slower:6%", "never, slower"])
def test_what_cannot_fail_is_refused_where_it_is_written(wrong: Any) -> None:
    with pytest.raises(DefinitionError, match=r"test_grouped.py.*fail_on"):
        stmts(fail_on=wrong)
