"""How much new memory is timed? Pages that two sides touch for the first time, per run of a statement.

    python benchmarks/new_memory.py [--layouts 6] [--keep docs/figures/new_memory.txt]

One side has imported a module that has allocated and freed 20 MiB. Both run the same statement in forks with the same
random layouts: ten runs as they come, and ten after the runs in which memory settles, which are those that a comparison
times. What is counted are page faults of the child, which do not depend on load; no clock is read.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from photometer.instruments.settled_memory import settle_memory
from photometer.model.machine import Environment
from photometer.session.session import ServerKind, Session
from photometer.worker.messages import Prepare, Time

RUNS = 10
TIMEOUT_SECONDS = 300.0
SETUP = "import imported_by_the_side\nimport torch\nx = torch.rand({rows}, 1024)"
FREES = "block = bytearray(20 << 20)\ndel block\n"
# The rows of x, of one page each, and the statement.
STATEMENTS = {
    "64 KiB": (16, "x.t().contiguous()"),
    "256 KiB": (64, "x.t().contiguous()"),
    "1 MiB": (256, "x.t().contiguous()"),
    "8 MiB": (2048, "x.t().contiguous()"),
    "8 MiB, and two more in between": (2048, "(x + 1) * (x - 1)"),
    "8 MiB, in place": (2048, "x.mul_(1.0)"),
    "8 MiB, out=": (2048, "torch.add(x, 1.0, out=x)"),
    "24 MiB": (6144, "x.t().contiguous()"),
    "64 MiB": (16384, "x.t().contiguous()"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", type=int, default=6, help="forks of each side per statement (default 6)")
    parser.add_argument("--keep", type=Path, help="write what is printed to this file")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if options.keep is not None:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(options.keep.open("w"))))
        print_table(options.layouts)


def print_table(layouts: int) -> None:
    print("| result | first ten runs, one side | the other side | timed runs, one side | the other side |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with two_sides() as sessions:
        for name, (rows, stmt) in STATEMENTS.items():
            prepare = Prepare(stmt, SETUP.format(rows=rows), warmup_runs=1)
            found = [
                sum(new_pages(session, prepare, layout, settles=settles) for layout in range(1, layouts + 1)) / layouts
                for settles in (False, True)
                for session in sessions
            ]
            print(f"| {name} | " + " | ".join(f"{pages:,.0f}" for pages in found) + " |", flush=True)


@contextlib.contextmanager
def two_sides() -> Iterator[list[Session]]:
    with contextlib.ExitStack() as stack:
        sessions = []
        for code in ("", FREES):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            (Path(folder) / "imported_by_the_side.py").write_text(code)
            sessions.append(stack.enter_context(Session(Environment(sys.executable, path=(folder,)))))
        yield sessions


def new_pages(session: Session, prepare: Prepare, layout: int, *, settles: bool) -> float:
    """Return how many pages a run touches for the first time, on average of some runs of one fork."""
    request = Prepare(prepare.stmt, prepare.setup, warmup_runs=1, layout_seed=layout)
    with session.child(ServerKind().importing(prepare)) as child:
        child.ask(request, TIMEOUT_SECONDS)
        if settles:
            settle_memory([child], TIMEOUT_SECONDS)
        runs = [child.ask(Time(1, watches_pages=True), TIMEOUT_SECONDS) for _ in range(RUNS)]
    return sum(run.touched_pages for run in runs) / RUNS


if __name__ == "__main__":
    main()
