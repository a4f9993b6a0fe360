"""How exact are counts of cold compilations, and what does PyTorch's own method see?

    python benchmarks/compile_counts.py                            every backend, and what torch has
    python benchmarks/compile_counts.py --backend eager --quick    one backend, without torch's Timer

For each backend the same function is counted in separate processes with another TMPDIR, working folder and cache:
three compilations in each. Printed are the relative differences within one process and between processes. Beside it:
`torch._C._instruction_counter`, by which PyTorch gates its compiler (it needs the processor's counter, which most
virtual machines do not have), with torch._dynamo.reset() between compilations in one process; and the same compilation
by torch.utils.benchmark's collect_callgrind, in two processes. With --planted a graph pass that visits the graph
ROUNDS times more is put into the backend `eager`: by how much the count grows. Figures do not depend on load.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.instruments.callgrind.compile_counts import count_compilation
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder
from photometer.plan import materialize
from photometer.session.session import Session

BACKENDS = ("eager", "aot_eager", "inductor")
PROCESSES = 2
STMT = "y = x\nfor _ in range(5):\n    y = torch.sin(y) + x"
REPEATS = 4
PEER_SETUP = "import torch._dynamo\ndef f(x):\n    for _ in range(5):\n        x = torch.sin(x) + x\n    return x"
PLANTED = """
from torch._dynamo.backends.registry import register_backend


@register_backend
def planted(graph, inputs):
    for _ in range({rounds}):
        [str(node.target) for node in graph.graph.nodes]
    return graph.forward


x = torch.ones(8)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="Only this backend; several are allowed.")
    parser.add_argument("--quick", action="store_true", help="Leave out torch's Timer, which takes minutes.")
    parser.add_argument("--planted", type=int, metavar="ROUNDS", help="Also count with a pass of so many rounds.")
    parser.add_argument("--count", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        print(json.dumps(count_here(options.count, options.rounds)))
        return
    print("| backend | compilations of each process | within one | between two | seconds each |")
    print("| --- | --- | --- | --- | --- |")
    for backend in options.backend or BACKENDS:
        print(row_of(backend, [count_apart(backend, number) for number in range(PROCESSES)]), flush=True)
    if options.planted is not None:
        plain, more = (count_apart("planted", 0, rounds) for rounds in (0, options.planted))
        change = middle(more["compilations"]) / middle(plain["compilations"]) - 1
        print(f"\n{options.planted} rounds of a planted pass: {change:+.3%}")
    print(f"\ntorch's own counter, in one process: {torchs_counter()}")
    if not options.quick:
        counts = [torchs_timer() for _ in range(PROCESSES)]
        print(f"torch's Timer.collect_callgrind, a process each: {counts}, {spread(counts):.3%} apart")


def count_here(backend: str, rounds: int) -> dict[str, Any]:
    """Count in this process's session."""
    setup = GroupedSetup("x = torch.ones(8)" if rounds < 0 else PLANTED.format(rounds=rounds))
    group = GroupedStmts(STMT, setup=setup, signature="f(x) -> y", compiled=f"backend:{backend}")
    (order,) = (order for order in materialize({"chain": group}) if order.eager_args is not None)
    with Session() as session:
        # The first starts the server.
        count_compilation(session, Asked(ReadyOrder(order)))
        start = time.monotonic()
        counts = count_compilation(session, Asked(ReadyOrder(order)))
    seconds = (time.monotonic() - start) / len(counts.compilations)
    return {"compilations": counts.compilations, "overhead": counts.overhead_per_call, "seconds": seconds}


def count_apart(backend: str, number: int, rounds: int = -1) -> dict[str, Any]:
    """Count in a process of its own, whose surroundings depend on `number`."""
    with tempfile.TemporaryDirectory(prefix="compile" * (number + 1)) as folder:
        variables = {**os.environ, "TMPDIR": folder, "PHOTOMETER_CACHE": f"{folder}/cache", "PHOTOMETER_KEEP": "0"}
        command = [sys.executable, str(Path(__file__).resolve()), "--count", backend, "--rounds", str(rounds)]
        done = subprocess.run(command, env=variables, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    counted: dict[str, Any] = json.loads(done.stdout)
    return counted


def row_of(backend: str, processes: list[dict[str, Any]]) -> str:
    counts = [each["compilations"] for each in processes]
    within = max(spread(each) for each in counts)
    between = spread([middle(each) for each in counts])
    seconds = sum(each["seconds"] for each in processes) / len(processes)
    shown = "; ".join(", ".join(f"{count:,}" for count in each) for each in counts)
    return f"| {backend} | {shown} | {within:.4%} | {between:.4%} | {seconds:.1f} |"


def middle(counts: list[int]) -> int:
    return sorted(counts)[len(counts) // 2]


def spread(counts: list[int]) -> float:
    return (max(counts) - min(counts)) / min(counts)


def torchs_counter() -> str:
    """Return what PyTorch's gate would see of repeated compilations; it has no way without the processor's counter."""
    code = f"""
import torch
{PEER_SETUP}
from torch._C._instruction_counter import end, start
counts = []
for _ in range({REPEATS}):
    torch._dynamo.reset()
    opened = start()
    if opened < 0:
        raise SystemExit("the processor's counter cannot be opened")
    torch.compile(f, backend="eager")(torch.ones(8))
    counts.append(end(opened))
print(counts)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else f"not available ({done.stderr.strip().splitlines()[-1]})"


def torchs_timer() -> int:
    setup = f"{PEER_SETUP}\nx = torch.ones(8)"
    code = f"""
from torch.utils.benchmark import Timer
timer = Timer("torch._dynamo.reset(); torch.compile(f, backend='eager')(x)", {setup!r})
print(timer.collect_callgrind(number=1, collect_baseline=False).counts())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
