"""Ranks: the time of each process of a group for the same blocks; for a collective, its bandwidth on the bus.

In: a session and a request. Out: RankTimes. The order's own time is that of its slowest rank (worker/ranks.py);
RankTimes say how far the ranks are apart.
"""

from __future__ import annotations

import time

from photometer.instruments.declaration import Asked, Beside, Figure, Instrument
from photometer.instruments.ready_order import prepared_child, task_spec_of
from photometer.instruments.visit import WALL
from photometer.instruments.wall_time import MOST_RUNS_PER_BLOCK
from photometer.model.run_figures import RankTimes
from photometer.model.task import TaskSpec
from photometer.model.units import format_seconds
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.child_process import ChildProcess
from photometer.session.session import ServerKind, Session
from photometer.session.shared import process_session
from photometer.stats.summary import order_statistic_interval
from photometer.worker.accelerators import names_accelerator
from photometer.worker.messages import Prepare, Time, TimeBlocks

# All ranks reach a block within some microseconds, on a busy machine within a time slice: long beside both.
BLOCK_SECONDS = 0.01
# As few blocks as have an interval, however slow a run is.
FEWEST_BLOCKS = 6
MOST_BLOCKS = 200
# Ranks that do the same, each on a core of its own, differ by less.
SPREAD_TO_MENTION = 0.1


def take_rank_blocks(child: ChildProcess, task_spec: TaskSpec, seconds: float, timeout_seconds: float) -> RankTimes:
    """Time blocks in all ranks of a prepared child for about `seconds`."""
    deadline = time.monotonic() + timeout_seconds

    def left() -> float:
        return max(deadline - time.monotonic(), 0.0)

    number = 1
    while (block := child.ask(Time(number), left()).seconds) < BLOCK_SECONDS / 2 and number < MOST_RUNS_PER_BLOCK:
        number *= 2
    blocks = min(max(round(seconds / max(block, 1e-9)), FEWEST_BLOCKS), MOST_BLOCKS)
    taken = child.ask(TimeBlocks(number, blocks), left())
    by_rank = tuple(tuple(each / number for each in seconds) for seconds in taken.rank_block_seconds)
    return RankTimes(task_spec, by_rank, number)


def measure_ranks(session: Session, asked: Asked) -> RankTimes:
    order, figures = asked.order, asked.order.figures
    with prepared_child(session, asked.ready, asked.cores, warmup_runs=1) as child:
        taken = take_rank_blocks(child, task_spec_of(order), asked.min_run_time, order.timeout_seconds)
    if figures is None:
        return taken
    return RankTimes(taken.task_spec, taken.seconds, taken.runs_per_block, figures.collective, figures.bytes)


def ranks_of_text(task_spec: TaskSpec, ranks: int, seconds: float, *, seed: int | None = None) -> RankTimes:
    """Time Python text in a group of ranks of this process's session."""
    prepare = Prepare(
        task_spec.stmt,
        task_spec.setup,
        num_threads=task_spec.num_threads,
        warmup_runs=1,
        synchronize=names_accelerator(f"{task_spec.setup}\n{task_spec.stmt}"),
        seed=seed,
        ranks=ranks,
    )
    with process_session().child(ServerKind().importing(prepare)) as child:
        child.ask(prepare, DEFAULT_TIMEOUT_SECONDS)
        return take_rank_blocks(child, task_spec, seconds, DEFAULT_TIMEOUT_SECONDS)


def _interval(times: RankTimes) -> tuple[float, float]:
    return order_statistic_interval(times.slowest_of_each_block)


def _bus_interval(times: RankTimes) -> tuple[float, float]:
    low, high = _interval(times)
    rate = times.bus_bytes_per_second
    assert rate is not None
    moved = rate * times.slowest
    return moved / high, moved / low


def _remark(times: RankTimes) -> str:
    if times.spread < SPREAD_TO_MENTION:
        return ""
    ranks = ", ".join(f"rank {rank} {format_seconds(seconds, 3)}" for rank, seconds in enumerate(times.by_rank))
    return f"the ranks take different times: {ranks}"


RANKS = Instrument(
    name="ranks",
    doing="timing the ranks",
    record=RankTimes,
    measure=measure_ranks,
    figures=(
        Figure(
            "slowest_rank_seconds", "s", of=lambda times: times.slowest, exact=False, head="slowest", interval=_interval
        ),
        Figure(
            "rank_spread",
            "share",
            of=lambda times: times.spread,
            exact=False,
            head="spread",
            meaning="by how much the slowest rank is slower than the fastest",
        ),
        Figure(
            "bus_bytes_per_second",
            "B/s",
            of=lambda times: times.bus_bytes_per_second,
            exact=False,
            head="bus",
            meaning="what crosses the slowest link: bytes/time × the factor of NCCL's tests",
            worse="less",
            interval=_bus_interval,
        ),
    ),
    option=WALL,
    applies=lambda order, options: order.auto.ranks > 0,
    beside=Beside.OTHER_CORES,
    first_guess_seconds=3.0,
    title="Ranks",
    remark=_remark,
)
