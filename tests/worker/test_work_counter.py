"""FLOPs and unavoidable bytes of one run, and numbers read from variables, in this process."""

from __future__ import annotations

import pytest
import torch

from photometer.worker.figure_messages import CountWork, Observe, Work
from photometer.worker.python_loop import PythonLoop
from photometer.worker.work_counter import count_work, number_in, observe

pytestmark = pytest.mark.lengthy

FLOAT = 4


def work_of(stmt: str, setup: str = "pass") -> Work:
    with PythonLoop(stmt, setup, globals={"torch": torch}).open_blocks() as run_block:
        return count_work(run_block, CountWork())


def test_a_matrix_product() -> None:
    work = work_of("x @ y", "x = torch.rand(4, 8); y = torch.rand(8, 2)")
    assert work == Work(2.0 * 4 * 8 * 2, FLOAT * (32 + 16 + 8.0), "float32")


@pytest.mark.parametrize(
    ("stmt", "moved"),
    [
        ("y = x + 1", 200),
        ("y = x + x", 200),
        ("x += z", 300),
        ("torch.add(x, z, out=z)", 300),
        # What lives only in between need not leave the processor.
        ("y = (x * 2).exp() + z", 300),
        ("y = (x * 2).sum()", 101),
        ("y = x.view(10, 10).t().contiguous()", 200),
        ("y = torch.zeros(100)", 100),
        ("y = 3", 0),
    ],
)
def test_inputs_are_read_once_and_outputs_written_once(stmt: str, moved: int) -> None:
    assert (work_of(stmt, "x = torch.rand(100); z = torch.rand(100)").bytes or 0) == FLOAT * moved


def test_backward_counts_too_and_the_type_is_the_busiest() -> None:
    setup = "x = torch.rand(4, 8, dtype=torch.bfloat16); w = torch.rand(8, 2, dtype=torch.bfloat16, requires_grad=True)"
    work = work_of("(x @ w).sum().backward()", setup)
    assert (work.flops, work.dtype) == (2 * 2.0 * 4 * 8 * 2, "bfloat16")


def test_what_torchs_counter_does_not_know() -> None:
    attention = work_of("torch.nn.functional.scaled_dot_product_attention(q, q, q)", "q = torch.rand(2, 3, 16, 8)")
    assert attention.flops == 2 * 2 * 3 * 16 * 16 * (8 + 8)
    recurrent = work_of("m(x)", "m = torch.nn.LSTM(4, 8); x = torch.rand(5, 2, 4)")
    assert recurrent.flops == 2 * 5 * 2 * (4 * 8 * 4 + 4 * 8 * 8)


def test_variables_are_read_after_each_run() -> None:
    loop = PythonLoop("n += 1\nloss = torch.tensor([n * 0.5])", "n = 0", globals={"torch": torch})
    with loop.open_blocks() as run_block:
        observed = observe(run_block, loop.variable, Observe(("n", "loss"), 3, warmup_runs=1))
        assert observed.values == [[2.0, 3.0, 4.0], [1.0, 1.5, 2.0]]
        with pytest.raises(NameError, match="no variable gone"):
            observe(run_block, loop.variable, Observe(("gone",), 1))
    with pytest.raises(RuntimeError, match="no blocks"):
        loop.variable("n")


@pytest.mark.parametrize("value", ["text", None, float("nan"), float("inf"), 1e31, torch.rand(2), [1]])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError), match="the metric loss"):
        number_in(value, "loss")
