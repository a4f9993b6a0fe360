"""ReplicateTaker: one replicate of a pair of orders, as the loop of a comparison asks for it.

One thread runs on the pinned core of the duet. An order of several threads gets as many cores on each side, for on one
its threads would only wait for each other.
"""

from __future__ import annotations

import os
import random

from photometer.errors import WorkerCrashed
from photometer.execution.comparison_run import PairedOrder
from photometer.execution.duet_run import MOST_PAIRS, REPLICATE_SECONDS, REPLICATES_PER_PAIR, DuetRun
from photometer.instruments.duet import Replicate, Side, take_replicate
from photometer.model.comparison_replicate import ComparisonReplicate

# A fork that opens an accelerator takes 1 to 2 s before it measures: it should then measure for a while.
DEVICE_REPLICATE_SECONDS = 1.0


class ReplicateTaker:
    def __init__(
        self,
        duet: DuetRun,
        chance: random.Random,
        core: int | None,
        *,
        layout: int = 0,
        seconds: float = REPLICATE_SECONDS,
    ) -> None:
        self._duet = duet
        self._chance = chance
        self._core = core
        self._layout = layout
        self._seconds = seconds

    def __call__(self, pair: PairedOrder, turn: int) -> ComparisonReplicate:
        try:
            taken = self._take(pair, turn)
        except WorkerCrashed:
            self._replace_dead_servers(turn)
            raise
        return ComparisonReplicate.from_seconds(
            pair.order.id,
            taken.runs_per_block,
            taken.base_seconds_per_run,
            taken.branch_seconds_per_run,
            measuring_seconds=taken.measuring_seconds,
            whole_seconds=taken.whole_seconds,
            layout=self._layout,
        )

    def _take(self, pair: PairedOrder, turn: int) -> Replicate:
        threads = pair.order.args.num_threads
        seconds = DEVICE_REPLICATE_SECONDS if pair.on_device else self._seconds
        if threads == 1:
            return self._duet.replicate(
                pair.prepare_base,
                pair.prepare_branch,
                seconds=seconds,
                timeout_seconds=pair.order.timeout_seconds,
                turn=turn,
            )
        base, branch = self._duet.servers(_pair_of(turn))
        cpus = {"cpus": neighbours(self._core, threads)} if hasattr(os, "sched_getaffinity") else {}
        return take_replicate(
            Side(base, {**pair.prepare_base, **cpus}),
            Side(branch, {**pair.prepare_branch, **cpus}),
            seconds=seconds,
            core=None,
            chance=self._chance,
            timeout_seconds=pair.order.timeout_seconds,
        )

    def _replace_dead_servers(self, turn: int) -> None:
        """A child that dies leaves its server alive; where the server itself went, all are started anew when needed."""
        if not all(server.alive for server in self._duet.servers(_pair_of(turn))):
            self._duet.close()


def _pair_of(turn: int) -> int:
    """Which pair of servers has this turn, as DuetRun itself counts."""
    return (turn // REPLICATES_PER_PAIR) % MOST_PAIRS


def neighbours(core: int | None, count: int) -> list[int]:
    """So many of the cores this process may use, the given one first."""
    allowed = sorted(os.sched_getaffinity(0))
    start = allowed.index(core) if core in allowed else 0
    return sorted((allowed[start:] + allowed[:start])[:count])
