"""How long it takes to define and to expand a suite of 10,000 work orders. Claim: expanding takes under 2 seconds.

The worst case has 10,000 different Python statements; the usual one shares set-ups and statements between variants.
No peer is beside it: PyTorch's own suite has to script its models while it expands.
"""

from __future__ import annotations

import time

from photometer.definition import GroupedBenchmark, GroupedSetup, GroupedStmts
from photometer.plan import materialize

ORDERS = 10_000
SETUP = GroupedSetup(
    "x = torch.ones((4, 4))\nw = torch.ones((4, 4), requires_grad=True)",
    "auto x = torch::ones({4, 4});\nauto w = torch::ones({4, 4}, torch::requires_grad());",
)


def usual() -> dict[str, GroupedBenchmark]:
    """Sixteen variants a group: two languages, two runtimes, with and without autograd, one and two threads."""
    return {
        f"group {number}": GroupedStmts(
            f"y = x * w + {number}",
            f"auto y = x * w + {number};",
            SETUP,
            signature="f(x, w) -> y",
            torchscript=True,
            autograd=True,
            num_threads=(1, 2),
        )
        for number in range(ORDERS // 16)
    }


def worst() -> dict[str, GroupedBenchmark]:
    return {
        f"group {number}": GroupedStmts(f"y = x + {number}", setup=GroupedSetup(f"x = torch.ones({number})"))
        for number in range(ORDERS)
    }


def main() -> None:
    for name, define in (("16 variants a group", usual), ("1 variant a group", worst)):
        start = time.perf_counter()
        benchmarks = define()
        defined = time.perf_counter()
        orders = len(materialize(benchmarks))
        expanded = time.perf_counter()
        print(f"{name:20} {orders} orders: define {defined - start:.2f} s, expand {expanded - defined:.2f} s")


if __name__ == "__main__":
    main()
