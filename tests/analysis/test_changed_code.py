"""Which code of the user's changed: made-up call trees of two sides, and the words about them."""

from __future__ import annotations

from photometer.analysis.cause import code_words
from photometer.analysis.changed_code import ChangedCode, changed_code
from photometer.analysis.flame_tree import frame_changes
from photometer.instruments.callgrind.python_frames import STATEMENT, CallSite, FramedSide

RUNS = 10
CALL = "Module._call_impl (torch/nn/modules/module.py)"
FORWARD = "Block.forward (tinynet/model.py)"
GATE = "Block.gate (tinynet/model.py)"
HELPER = "helper (tinynet/tools.py)"
LINEAR = "torch::autograd::THPVariable_linear(_object*, _object*, _object*)"
CONTIGUOUS = "torch::autograd::THPVariable_contiguous(_object*, _object*)"

Rows = dict[tuple[str, ...], int]
BASE: Rows = {
    (STATEMENT,): 100,
    (STATEMENT, CALL, FORWARD): 500,
    (STATEMENT, CALL, FORWARD, CALL, LINEAR): 4000,
    (STATEMENT, CALL, FORWARD, GATE): 300,
    (STATEMENT, CALL, FORWARD, GATE, CALL, LINEAR): 4000,
}


def side(rows: Rows, calls: dict[str, dict[CallSite, float]] | None = None, first_line: int = 38) -> FramedSide:
    return FramedSide(tuple(rows.items()), RUNS, {GATE: first_line, FORWARD: 50, HELPER: 7}, calls or {})


def gate_calls(*sites: CallSite) -> dict[str, dict[CallSite, float]]:
    return {GATE: dict.fromkeys(sites, 1.0)}


def test_a_new_call_is_named_with_its_function_and_line() -> None:
    branch = {**BASE, (STATEMENT, CALL, FORWARD, GATE, CONTIGUOUS): 1690, (STATEMENT, CALL, FORWARD, GATE): 310}
    (code,) = changed_code(
        side(BASE, gate_calls(CallSite("Linear._wrapped_call_impl", 39))),
        # Two lines were added above the function.
        side(branch, gate_calls(CallSite("Linear._wrapped_call_impl", 41), CallSite("contiguous", 41)), first_line=40),
    )
    assert code == ChangedCode("Block.gate", "tinynet/model.py", 41, 170.0, ("contiguous",))
    assert code_words(code) == "new under Block.gate (tinynet/model.py:41): contiguous (+170)"
    shown = {each.name: each.change for each in frame_changes(tuple(BASE.items()), tuple(branch.items()))}
    assert shown[GATE] / RUNS == code.instructions_per_run


def test_a_module_is_named_by_its_class_and_a_call_that_was_there_before_by_its_new_line() -> None:
    branch = {**BASE, (STATEMENT, CALL, FORWARD, GATE, CALL, LINEAR): 8000}
    before, again = CallSite("Linear._wrapped_call_impl", 39), CallSite("Linear._wrapped_call_impl", 40)
    (code,) = changed_code(side(BASE, gate_calls(before)), side(branch, gate_calls(before, again)))
    assert code_words(code) == "new under Block.gate (tinynet/model.py:40): Linear (+400)"


def test_what_is_gone_and_what_was_replaced() -> None:
    less = {**BASE, (STATEMENT, CALL, FORWARD, GATE, CALL, LINEAR): 1000}
    view, both = CallSite("view", 39), (CallSite("view", 39), CallSite("contiguous", 40))
    (gone,) = changed_code(side(BASE, gate_calls(*both)), side(less, gate_calls(view)))
    assert code_words(gone) == "gone under Block.gate (tinynet/model.py:38): contiguous (-300)"
    (other,) = changed_code(side(BASE, gate_calls(both[1])), side(less, gate_calls(view)))
    assert code_words(other) == "under Block.gate (tinynet/model.py:39): view instead of contiguous (-300)"


def test_an_operator_is_known_by_the_native_function_below() -> None:
    add = "torch::autograd::TypeError_to_NotImplemented_<&torch::autograd::THPVariable_add>(_object*, _object*)"
    branch = {**BASE, (STATEMENT, CALL, FORWARD, GATE, "binary_op1", add, "at::add(at::Tensor const&)"): 5000}
    (code,) = changed_code(side(BASE), side(branch))
    assert code_words(code) == "under Block.gate (tinynet/model.py:38), most in add (+500)"


def test_a_new_function_counts_for_the_one_that_calls_it() -> None:
    branch = {**BASE, (STATEMENT, CALL, FORWARD, GATE, HELPER, LINEAR): 5000}
    (code,) = changed_code(side(BASE), side(branch, gate_calls(CallSite("helper", 44))))
    assert code_words(code) == "new under Block.gate (tinynet/model.py:44): helper (+500)"


def test_two_functions_that_changed_are_distinct() -> None:
    mul = "torch::autograd::THPVariable_mul(_object*, _object*)"
    branch = {
        **BASE,
        (STATEMENT, CALL, FORWARD, GATE, CONTIGUOUS): 6000,
        (STATEMENT, CALL, FORWARD, mul): 3000,
    }
    first, second = changed_code(side(BASE), side(branch, gate_calls(CallSite("contiguous", 41))))
    assert code_words(first) == "new under Block.gate (tinynet/model.py:41): contiguous (+600)"
    assert code_words(second) == "in Block.forward (tinynet/model.py:50) itself, most in mul (+300)"
    assert first.instructions_per_run + second.instructions_per_run == 900.0


def test_without_code_of_the_user_the_library_is_named_and_without_any_nothing() -> None:
    base: Rows = {(STATEMENT, CALL): 100}
    (code,) = changed_code(side(base), side({(STATEMENT, CALL): 100, (STATEMENT, CALL, LINEAR): 900}))
    assert code_words(code) == "under Module._call_impl (torch/nn/modules/module.py), most in linear (+90)"
    (statement,) = changed_code(side({(STATEMENT,): 10}), side({(STATEMENT,): 10, (STATEMENT, LINEAR): 900}))
    assert code_words(statement) == "under the statement, most in linear (+90)"
    assert changed_code(side({("main", "f"): 100}), side({("main", "f"): 200})) == ()
