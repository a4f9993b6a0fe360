"""The suites that benchmarks/device_session.py measures on a machine with a GPU, and without one on the CPU.

The variable WORK of an environment (`env:WORK=105`) is the work of a run in per cent: two environments then differ by a
change whose size is known. With SESSION_DEVICE=cpu everything is defined for the CPU, to rehearse the session.
"""

from __future__ import annotations

import os

from photometer import GroupedModules, GroupedSetup, GroupedStmts

DEVICE = os.environ.get("SESSION_DEVICE", "cuda")
MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs")
WORK = "import os; work = int(os.environ.get('WORK', '100')) / 100"

COMPILED = {
    "MLP": GroupedModules(
        "model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 64)).to(device)",
        setup=GroupedSetup("x = torch.randn(64, 256, device=device)"),
        signature="f(x) -> y",
        devices=(DEVICE,),
        compiled=MODES,
        instructions=False,
        timeout_seconds=120,
    ),
}

FIGURES = {
    "matmul": GroupedStmts(
        "z = x @ y",
        setup=GroupedSetup("x = torch.randn(n, n, device=device); y = torch.randn(n, n, device=device)"),
        signature="f(x, y) -> z",
        sizes={"n": (256, 2048)},
        devices=(DEVICE,),
        flops="2 * n ** 3",
        instructions=False,
    ),
    "softmax": GroupedStmts(
        "y = torch.softmax(x, -1)",
        setup=GroupedSetup("x = torch.randn(2048, 1024, device=device)"),
        signature="f(x) -> y",
        devices=(DEVICE,),
        instructions=False,
    ),
}

# A kernel of about 2 us at 1.98 GHz that takes as many cycles as WORK says: +5 % of WORK is about +5 % of its time.
SPIN = {
    "spin of 2 us": GroupedStmts(
        "torch.cuda._sleep(cycles)" if DEVICE == "cuda" else "for _ in range(cycles): pass",
        setup=GroupedSetup(f"{WORK}; cycles = round(3960 * work); torch.ones(1, device=device)"),
        devices=(DEVICE,),
        instructions=False,
    ),
}

# Kernels as programs have them. The addition of 2 Mi floats takes 3 us; 2 us of these grow with their number.
KERNELS = {
    "add, 1 Ki": GroupedStmts(
        "y = x + 1",
        setup=GroupedSetup("x = torch.randn(1024, device=device)"),
        devices=(DEVICE,),
        instructions=False,
    ),
    "add, 2 Mi": GroupedStmts(
        "torch.add(x, 1, out=y)",
        setup=GroupedSetup(f"{WORK}; x = torch.randn(round(2**21 * work), device=device); y = torch.empty_like(x)"),
        devices=(DEVICE,),
        instructions=False,
    ),
}

CPP = {
    "add": GroupedStmts(
        "y = x + 1",
        "auto y = x + 1;",
        GroupedSetup(
            "x = torch.randn(1 << 20, device=device)",
            "auto x = torch::randn({1 << 20}, torch::Device(device));",
        ),
        devices=(DEVICE,),
        instructions=False,
    ),
}

BENCHMARKS = FIGURES

# A group of one: NCCL itself, on a machine with one card.
RANKS = {
    "all_reduce": GroupedStmts(
        "torch.distributed.all_reduce(x)",
        setup=GroupedSetup("x = torch.rand(nbytes // 4, device=device)"),
        ranks=1,
        sizes={"nbytes": (1 << 12, 1 << 18, 1 << 24)},
        devices=DEVICE,
        bytes="nbytes",
        collective="all_reduce",
    )
}
