"""Options about measuring that several subcommands share: which interpreter, how long, which figures."""

from __future__ import annotations

from typing import Annotated

import typer

from photometer.cli.numbers import MOST_RANKS, MOST_REPEATS, seconds
from photometer.worker.seeds import LARGEST_SEED

Python = Annotated[
    str | None,
    typer.Option("--python", metavar="PATH", help="Interpreter whose torch is used (default: this one)."),
]
Memory = Annotated[
    bool, typer.Option("--memory", help="Measure what one run allocates: peak, bytes, number of blocks.")
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="[NAME]",
        help="Measure device time on the accelerator, or on this one: cuda, cuda:1, xpu, mps.",
    ),
]
Ranks = Annotated[
    int | None,
    typer.Option(
        "--ranks",
        metavar="N",
        min=1,
        max=MOST_RANKS,
        help="Run each statement in a group of N processes, joined by torch.distributed; the slowest counts.",
    ),
]


def _lock(context: typer.Context, value: bool) -> bool:
    if value:
        from photometer.instruments.device.clock_lock import locked_clocks

        # Until the command ends.
        context.with_resource(locked_clocks())
    return value


LockClocks = Annotated[
    bool,
    typer.Option(
        "--lock-clocks", callback=_lock, help="Lock the clocks of NVIDIA's GPUs while the command runs (as root)."
    ),
]
MinRunTime = Annotated[
    float, typer.Option("--min-run-time", metavar="S", callback=seconds, help="Seconds to measure each variant.")
]
Repeats = Annotated[
    int, typer.Option("--repeats", metavar="N", min=1, max=MOST_REPEATS, help="Number of counts of each variant.")
]
Limit = Annotated[
    float | None,
    typer.Option(
        "--limit",
        metavar="S",
        callback=seconds,
        help="Maximum seconds in all, including startup and creating environments (default: no limit).",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=LARGEST_SEED,
        help="Seed of random data in all processes (default: fixed, except that replicates of times differ).",
    ),
]
Install = Annotated[
    str | None,
    typer.Option("--install", metavar="CMD", help="Command that installs a commit into a fresh environment."),
]
