"""The suite of compilations: code that torch.compile is slow at, each in one small function or network.

It is made for `--compile-counts`, which counts the instructions of a cold compilation: then a change of the compiler is
seen exactly, and no time needs to be measured. Most entries use a backend that stops early, so that what they count is
Dynamo (`eager`) or Dynamo and AOTAutograd (`aot_eager`); those below "inductor" go all the way. The tag `quick` selects
those that take seconds.
"""

from __future__ import annotations

from photometer.definition import GroupedModules, GroupedSetup, GroupedStmts

DYNAMO = "backend:eager"
AOT = "backend:aot_eager"

VECTOR = GroupedSetup("x = torch.ones(8)")
MATRIX = GroupedSetup("x = torch.ones(16, 16)")

# The names of its attributes are read one by one, and each is guarded.
SETTINGS = GroupedSetup(
    """
    class Settings:
        def __init__(self):
            for number in range(30):
                setattr(self, f"scale_{number}", 1.0 + number)


    settings = Settings()
    x = torch.ones(8)
    """
)
MANY_INPUTS = GroupedSetup("tensors = [torch.ones(8) for _ in range(30)]")
BROKEN = GroupedSetup("from torch._dynamo import graph_break\nx = torch.ones(8)")

PARAMETERS = """
    model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(12)])
"""
NESTED = """
    class Nest(torch.nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.inner = torch.nn.ModuleList([Nest(depth - 1), Nest(depth - 1)] if depth else [])
            self.last = torch.nn.ReLU()

        def forward(self, x):
            for each in self.inner:
                x = each(x)
            return self.last(x) + x


    model = Nest(3)
"""
NORMED = """
    layers = [torch.nn.Linear(16, 32), torch.nn.LayerNorm(32), torch.nn.GELU(), torch.nn.Linear(32, 8)]
    model = torch.nn.Sequential(*layers)
"""

BENCHMARKS = {
    "dynamo": {
        "one operation": GroupedStmts(
            "y = x + 1", setup=VECTOR, signature="f(x) -> y", compiled=DYNAMO, tags=("quick",)
        ),
        "loop": GroupedStmts(
            "y = x\nfor number in range(30):\n    y = y + number",
            setup=VECTOR,
            signature="f(x) -> y",
            compiled=DYNAMO,
            tags=("quick",),
        ),
        "dictionaries and comprehensions": GroupedStmts(
            "parts = {number: x * number for number in range(20)}\ny = sum([part.sum() for part in parts.values()])",
            setup=VECTOR,
            signature="f(x) -> y",
            compiled=DYNAMO,
            tags=("quick",),
        ),
        "many guards": GroupedStmts(
            'y = x\nfor number in range(30):\n    y = y * getattr(settings, f"scale_{number}")',
            setup=SETTINGS,
            signature="f(x, settings) -> y",
            compiled=DYNAMO,
        ),
        "many inputs": GroupedStmts(
            "y = sum(tensors)", setup=MANY_INPUTS, signature="f(tensors) -> y", compiled=DYNAMO
        ),
        "many parameters": GroupedModules(PARAMETERS, setup=MATRIX, signature="f(x) -> y", compiled=DYNAMO),
        "nested modules": GroupedModules(NESTED, setup=VECTOR, signature="f(x) -> y", compiled=DYNAMO),
        "graph breaks": GroupedStmts(
            "y = x + 1\ngraph_break()\ny = y * 2\ngraph_break()\ny = y.relu()\ngraph_break()\ny = y + x",
            setup=BROKEN,
            signature="f(x, graph_break) -> y",
            compiled=DYNAMO,
        ),
        "dynamic shapes": GroupedStmts(
            "rows, columns = x.shape\n"
            "y = x.reshape(rows * columns)[: (rows * columns) // 2].reshape(rows // 2, columns)\n"
            "y = torch.cat([y, y]).sum(0) * rows + columns",
            setup=MATRIX,
            signature="f(x) -> y",
            compiled=DYNAMO,
            dynamic=True,
        ),
    },
    "aot": {
        "one operation": GroupedStmts(
            "y = x * 2",
            setup=GroupedSetup("x = torch.ones(8, requires_grad=True)"),
            signature="f(x) -> y",
            compiled=AOT,
            autograd=True,
            tags=("quick",),
        ),
        "partitioner": GroupedStmts(
            "y = x\nfor _ in range(6):\n    y = torch.tanh(y @ x) + y.sigmoid()",
            setup=GroupedSetup("x = torch.full((16, 16), 0.1, requires_grad=True)"),
            signature="f(x) -> y",
            compiled=AOT,
            autograd=True,
        ),
    },
    "inductor": {
        "pointwise chain": GroupedStmts(
            "y = x\nfor _ in range(10):\n    y = torch.sin(y) + x",
            setup=VECTOR,
            signature="f(x) -> y",
            compiled=True,
        ),
        "network": GroupedModules(NORMED, setup=MATRIX, signature="f(x) -> y", compiled=True, autograd=True),
    },
}
