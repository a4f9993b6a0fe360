from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from photometer.definition import GroupedModules, GroupedSetup, GroupedStmts
from photometer.definition.compile_variant import CompileVariant, compile_variants
from photometer.definition.suite import Suite
from photometer.errors import DefinitionError
from photometer.model.order_name import compile_words


@pytest.mark.parametrize(
    ("compiled", "modes"),
    [
        (False, ()),
        (True, ("default",)),
        ("reduce-overhead", ("reduce-overhead",)),
        (["default", "max-autotune-no-cudagraphs"], ("default", "max-autotune-no-cudagraphs")),
    ],
)
def test_modes(compiled: Any, modes: tuple[str, ...]) -> None:
    assert tuple(variant.mode for variant in compile_variants(compiled)) == modes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fast",), "the mode 'fast'"),
        (("backend:",), "the mode 'backend:'"),
        (('backend:a", mode="b',), "or a backend: backend:aot_eager"),
        ((["default", "default"],), "twice"),
        ((False, True), "without compiled="),
        ((True, "yes"), "dynamic='yes'"),
    ],
)
def test_mistakes(arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        compile_variants(*arguments)


def test_its_call_and_its_word() -> None:
    assert CompileVariant().call_text("f") == "torch.compile(f)"
    assert CompileVariant().word == ""
    told = CompileVariant("reduce-overhead", True, True)
    assert told.call_text("f") == 'torch.compile(f, mode="reduce-overhead", dynamic=True, fullgraph=True)'
    assert told.word == "reduce-overhead dynamic fullgraph"
    assert CompileVariant(dynamic=False).word == "static"


def test_a_backend_takes_the_place_of_a_mode() -> None:
    default, (backend,) = compile_variants(True), compile_variants("backend:aot_eager", dynamic=True)
    assert (default[0].backend, backend.backend) == ("", "aot_eager")
    assert backend.call_text("f") == 'torch.compile(f, backend="aot_eager", dynamic=True)'
    assert backend.word == "backend:aot_eager dynamic"
    recorded = dataclasses.asdict(backend)
    assert compile_words(recorded) == tuple(backend.word.split())


SETUP = GroupedSetup("x = torch.ones(4)")


def test_both_kinds_of_group_take_modes() -> None:
    statements = GroupedStmts("y = x + 1", setup=SETUP, signature="f(x) -> y", compiled=["default", "reduce-overhead"])
    modules = GroupedModules("model = torch.nn.ReLU()", setup=SETUP, signature="f(x) -> y", compiled=True, dynamic=True)
    assert [variant.mode for variant in statements.compiled] == ["default", "reduce-overhead"]
    assert modules.compiled == (CompileVariant(dynamic=True),)


def test_modes_change_the_fingerprint_and_the_default_does_not() -> None:
    def fingerprint(**options: Any) -> str:
        group = GroupedStmts("y = x + 1", setup=SETUP, signature="f(x) -> y", **options)
        return Suite.from_benchmarks({"add": group}).fingerprint

    assert fingerprint(compiled=True) == fingerprint(compiled="default")
    different = {fingerprint(), fingerprint(compiled=True), fingerprint(compiled="reduce-overhead")}
    assert len(different | {fingerprint(compiled=True, fullgraph=True)}) == 4
