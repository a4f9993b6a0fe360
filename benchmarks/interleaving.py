"""How much does interleaving help on a GPU? Identical sides, one after the other and in turn, clocks free and locked.

    sudo python benchmarks/interleaving.py [--trials 20] [--seconds 0.3]
    python benchmarks/figures.py benchmarks/interleaving.py        keeps what it printed for the docs

Both ways take the same number of blocks of the same statement with photometer's own sampler; only their order differs.
A trial pauses first, as programs do between measurements: the card cools and lowers its clock. Printed is how far
apart the medians of two sides are that run the same code: half of the trials are below the first figure, all below the
second. Without root the rows with locked clocks are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import time
from collections.abc import Iterator, Sequence

from photometer.errors import ToolMissing
from photometer.instruments.device.accelerator import Accelerator, RunBlock
from photometer.instruments.device.blocks import hide_launch
from photometer.instruments.device.clock_lock import locked_clocks
from photometer.instruments.device.host_side import find_pace
from photometer.instruments.device.sampler import BlockRequest, BlockSample, EventSampler
from photometer.instruments.device.statement import open_statement
from photometer.instruments.device.torch_accelerator import open_accelerator

STATEMENTS = {
    "add, 1 GiB": ("torch.add(x, 1.0, out=y)", "x = torch.randn(2**28, device='{kind}'); y = torch.empty_like(x)"),
    "softmax, 8 MB": ("torch.softmax(x, -1)", "x = torch.randn(2048, 1024, device='{kind}')"),
    "matmul 8192, bf16": (
        "x @ y",
        "x, y = (torch.randn(8192, 8192, device='{kind}', dtype=torch.bfloat16) for _ in range(2))",
    ),
}
# Blocks of 2 ms, as in `ab`; the pause is about what a process needs to start.
BLOCK_SECONDS = 2e-3
PAUSE_SECONDS = 0.3
FEWEST_BLOCKS = 10


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.3, help="per side and trial")
    asked = parser.parse_args()
    accelerator = open_accelerator()
    print(f"{accelerator.name}, {asked.trials} trials, {asked.seconds} s per side\n")
    print("| statement | clocks | one after the other | in turn | MHz seen |")
    print("| --- | --- | --- | --- | --- |")
    for words, clocks in (("free", contextlib.nullcontext()), ("locked", locked_clocks())):
        try:
            with clocks:
                for name, (stmt, setup) in STATEMENTS.items():
                    setup = setup.format(kind=accelerator.kind)
                    with open_statement(stmt, setup, {"torch": torch}) as statement:
                        request = prepared(accelerator, statement.run)
                        print(f"| {name} | {words} | {row(accelerator, request, asked)} |", flush=True)
        except ToolMissing as error:
            print(f"\n{error}")


def prepared(accelerator: Accelerator, run: RunBlock) -> BlockRequest:
    """Return a block of about 2 ms, whose launch is hidden."""
    pace = find_pace(accelerator, run, time.perf_counter)
    request = BlockRequest(run, pace.hot_runs(BLOCK_SECONDS), pace.host_seconds_per_run)
    return hide_launch(EventSampler(accelerator), request)


def row(accelerator: Accelerator, request: BlockRequest, asked: argparse.Namespace) -> str:
    sampler = EventSampler(accelerator)
    one = sampler.sample([request] * FEWEST_BLOCKS)
    block = statistics.median(sample.seconds_per_run for sample in one) * request.runs
    blocks = max(round(asked.seconds / block), FEWEST_BLOCKS)
    apart: dict[str, list[float]] = {"after": [], "turn": []}
    megahertz: set[int] = set()
    for trial in range(asked.trials):
        for way in random.Random(trial).sample(sorted(apart), 2):
            time.sleep(PAUSE_SECONDS)
            sides = in_order(sampler, request, blocks) if way == "after" else in_turn(sampler, request, blocks, trial)
            a, b = (statistics.median(sample.seconds_per_run for sample in side) for side in sides)
            apart[way].append(abs(b / a - 1))
            megahertz.update(clocks_of([*sides[0], *sides[1]]))
    cells = [f"{statistics.median(found):.2%}, {max(found):.2%}".replace("%", " %") for found in apart.values()]
    seen = f"{min(megahertz):,} to {max(megahertz):,}" if megahertz else "not read"
    return " | ".join([*cells, seen])


def in_order(sampler: EventSampler, request: BlockRequest, blocks: int) -> tuple[list[BlockSample], list[BlockSample]]:
    """Take all blocks of one side, pause as between two programs, and take those of the other."""
    first = sampler.sample([request] * blocks)
    time.sleep(PAUSE_SECONDS)
    return first, sampler.sample([request] * blocks)


def in_turn(
    sampler: EventSampler, request: BlockRequest, blocks: int, seed: int
) -> tuple[list[BlockSample], list[BlockSample]]:
    """Take pairs of blocks, one of each side, in random order."""
    taken = sampler.sample([request] * (2 * blocks))
    draw = random.Random(seed)
    sides: tuple[list[BlockSample], list[BlockSample]] = ([], [])
    for place in range(0, len(taken), 2):
        first = draw.randrange(2)
        sides[first].append(taken[place])
        sides[1 - first].append(taken[place + 1])
    return sides


def clocks_of(samples: Sequence[BlockSample]) -> Iterator[int]:
    for sample in samples:
        if sample.clocks is not None and sample.clocks.sm_megahertz:
            yield sample.clocks.sm_megahertz


if __name__ == "__main__":
    main()
