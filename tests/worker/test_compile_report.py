"""What torch logs of compiling, in the words of its versions; the compiler itself runs in the nightly tests."""

from __future__ import annotations

from photometer.worker.compile_report import graph_break, merged, recompilation, unplaced_breaks

BREAK = """Graph break in user code at /home/model.py:20
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):

Unsupported Tensor.item() call with capture_scalar_outputs=False
  Explanation: Dynamo does not support tracing `Tensor.item()`.
  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True`.

User code traceback:
  File "/home/model.py", line 20, in f
    if y.item():
"""
OLD_BREAK = """Graph break in user code at /home/model.py:7
Reason: Unsupported: torch._dynamo.graph_break
User code traceback:
  File "/home/model.py", line 7
"""
RECOMPILE = """Recompiling function f in /home/model.py:17
    triggered by the following guard failure(s):
    - 0/0: tensor 'x' size mismatch at index 0. expected 16, actual 32
"""


def test_a_graph_break_has_a_place_a_reason_and_a_hint() -> None:
    assert graph_break(BREAK) == {
        "file": "/home/model.py",
        "line": 20,
        "code": "",
        "count": 1,
        "reason": "Unsupported Tensor.item() call with capture_scalar_outputs=False",
        "hint": "Set `torch._dynamo.config.capture_scalar_outputs = True`.",
    }


def test_an_older_torch_says_it_otherwise() -> None:
    found = graph_break(OLD_BREAK)
    assert found is not None
    assert (found["line"], found["reason"], found["hint"]) == (7, "Unsupported: torch._dynamo.graph_break", "")


def test_a_break_that_happens_again_is_counted() -> None:
    first, second = graph_break(BREAK), graph_break(BREAK.replace("in user code", "(again) in user code"))
    assert first is not None
    assert second is not None
    (only,) = merged([first, second])
    assert only["count"] == 2


def test_a_recompilation_has_the_guard_that_failed() -> None:
    assert recompilation(RECOMPILE) == {
        "function": "f",
        "file": "/home/model.py",
        "line": 17,
        "reason": "0/0: tensor 'x' size mismatch at index 0. expected 16, actual 32",
    }
    noted = RECOMPILE.replace("actual 32", "actual 32      # y = relu(x)  # <snippet>:5 in f")
    found = recompilation(noted)
    assert found is not None
    assert found["reason"].endswith("actual 32")


def test_other_messages_are_neither() -> None:
    assert graph_break("Step 1: torchdynamo start tracing f") is None
    assert recompilation(BREAK) is None


def test_counted_breaks_stand_in_if_the_log_is_silent() -> None:
    (only,) = unplaced_breaks({"call_function print\n  Hint: Do not.": 3})
    assert (only["count"], only["reason"], only["hint"]) == (3, "call_function print", "Do not.")
