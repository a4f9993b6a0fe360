"""The figure outside the allocator is the same, function by function, wherever the memory of a process lies."""

from __future__ import annotations

import pytest

from photometer.analysis.cause import are_identical
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.figures import exclusive_counts
from photometer.model.task import TaskSpec
from photometer.session.layout import Layout
from photometer.session.session import Session

NET = "net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)); x = torch.ones(4, 8)"
SCRIPT = "f = torch.jit.CompilationUnit('def f(x):\\n    return x * x + x\\n').f; x = torch.ones(4, 4)"
STATEMENTS = {
    "net(x).sum().backward()": NET,
    "f(x)": SCRIPT,
    "o.step()": NET + "; net(x).sum().backward(); o = torch.optim.Adam(net.parameters())",
}
# More than the collector's threshold, and memory of many sizes.
OBJECTS = "extra = [{str(i): object()} for i in range(900)]; big = [bytearray(1000 + 37 * i) for i in range(40)]\n"


@pytest.mark.nightly
@pytest.mark.valgrind
def test_backward_passes_scripts_and_optimisers_execute_the_same_in_every_layout() -> None:
    counted = []
    with Session() as session:
        for layout, before in ((Layout(), ""), (Layout(), OBJECTS), (Layout(1, 520), "")):
            counter = InstructionCounter(session, layout=layout)
            counted.append([counter.count(CountTask(TaskSpec(s, before + setup))) for s, setup in STATEMENTS.items()])
    for base, *others in zip(*counted, strict=True):
        for other in others:
            assert are_identical(
                base.instruction_counts(),
                other.instruction_counts(),
                exclusive_counts(base.profiles[0]),
                exclusive_counts(other.profiles[0]),
            ), base.task.task_spec.title
