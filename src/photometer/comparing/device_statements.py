"""Compare statements by device time, on one accelerator, with alternating blocks: Python here, C++ in a child.

In: contenders. Out: a Ranking, like that of statements on the host. Each pair is a separate benchmark, because the
instrument queues pairs. Blocks alternate in random order, so that clock and heat affect both statements of a pair.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from photometer.analysis.ranking import PairVerdict, Ranking, rank_statements
from photometer.comparing.contenders import Contender
from photometer.comparing.rank import OnLook, Stopping, pairs_of, rank_apart
from photometer.comparing.verdict_loop import Sample
from photometer.instruments.clock import Clock
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.instruments.device.accelerator import Accelerator, RunBlock
from photometer.instruments.device.blocks import MOST_COLD_RUNS, MOST_PROFILED_RUNS, hide_launch
from photometer.instruments.device.device_times import SHORT_KERNEL_SECONDS
from photometer.instruments.device.findings import has_changed, known_megahertz
from photometer.instruments.device.host_side import find_pace, synchronises
from photometer.instruments.device.in_child import OPENING_SECONDS
from photometer.instruments.device.options import SourceChoice
from photometer.instruments.device.sampler import BlockRequest, BlockSample, EventSampler, ProfilerSampler, Sampler
from photometer.instruments.device.statement import Statement, open_native, open_statement
from photometer.instruments.wall_time import warm_up
from photometer.model.device_measurement import Source
from photometer.model.records import from_record
from photometer.model.units import percent
from photometer.session.child_process import ChildProcess
from photometer.session.session import Session
from photometer.stats.replicate import MINIMUM_BLOCKS, ReplicateEstimate, estimate_replicate, hodges_lehmann
from photometer.worker.device_pairs import OpenPairs, TakeReplicate
from photometer.worker.messages import Prepare
from photometer.worker.threads import set_torch_threads

# Pairs of blocks per replicate: floors are the 5 % to 15 % quantiles, which need more than ten.
PAIRS_PER_REPLICATE = 12
# Device time of one block; with the hold before it a replicate of 24 takes about 0.1 s.
DEVICE_BLOCK_SECONDS = 2e-3
WARM_UP_SECONDS = 0.1
# Tensors of different set-ups lie at different addresses as long as a comparison lasts. `x + 1` and `torch::add(x, 1)`
# of 4 MiB launch the same kernel; on an H200 their interval was -0.36 to -0.28 % after nine replicates.
OWN_SETUPS_BIAS = 0.004


@dataclass(frozen=True)
class DeviceReplicate:
    """`megahertz` are the clocks that its blocks were taken at, as far as something here reads them.

    `log_ratio_in_cycles` is the change if all of the time follows the clock; None if a block's clock is not known.
    """

    estimate: ReplicateEstimate
    pairs_set_aside: int
    throttled_throughout: bool
    megahertz: tuple[int, ...] = ()
    log_ratio_in_cycles: float | None = None


class AlternatingPair:
    """Two statements, warm and with their sizes chosen. `source` says where the times come from."""

    def __init__(
        self,
        accelerator: Accelerator,
        run_a: RunBlock,
        run_b: RunBlock,
        *,
        cold: bool,
        source: SourceChoice,
        order: random.Random,
        clock: Clock,
    ) -> None:
        self._order = order
        hot = [_prepare(accelerator, run, clock) for run in (run_a, run_b)]
        self._sampler = _choose_sampler(accelerator, hot, source, clock)
        self._requests = [_final(request, cold) for request in hot]
        # Not kept: the profiler attaches here if needed (seconds, once per process), and the clock settles under load.
        self.replicate()

    @property
    def source(self) -> Source:
        return self._sampler.source

    def replicate(self) -> DeviceReplicate:
        """Take one group of pairs. Which side comes first in a pair is random."""
        orders = [self._order.sample((0, 1), 2) for _ in range(PAIRS_PER_REPLICATE)]
        samples = self._sampler.sample([self._requests[side] for pair in orders for side in pair])
        pairs = []
        for i, (first, _) in enumerate(orders):
            one, other = samples[2 * i : 2 * i + 2]
            pairs.append((one, other) if first == 0 else (other, one))
        kept, throughout = sieve_pairs(pairs)
        a, b = zip(*kept, strict=True)
        seconds_a, seconds_b = ([block.seconds_per_run for block in side] for side in (a, b))
        clocks_a, clocks_b = (known_megahertz([block.clocks for block in side]) for side in (a, b))
        in_cycles = None
        if len(clocks_a) == len(clocks_b) == len(kept):
            cycles_a, cycles_b = np.multiply(seconds_a, clocks_a), np.multiply(seconds_b, clocks_b)
            in_cycles = estimate_replicate(cycles_a, cycles_b).log_ratio
        estimate = estimate_replicate(seconds_a, seconds_b)
        return DeviceReplicate(estimate, len(pairs) - len(kept), throughout, (*clocks_a, *clocks_b), in_cycles)


def sieve_pairs(
    pairs: Sequence[tuple[BlockSample, BlockSample]],
) -> tuple[list[tuple[BlockSample, BlockSample]], bool]:
    """Return the pairs in which the device was not held back, or all if it was in most; and whether it was."""
    free = [pair for pair in pairs if not any(s.clocks is not None and s.clocks.throttled for s in pair)]
    enough = len(free) >= MINIMUM_BLOCKS and 2 * len(free) > len(pairs)
    return (free, False) if enough else (list(pairs), len(free) < len(pairs))


def _prepare(accelerator: Accelerator, run: RunBlock, clock: Clock) -> BlockRequest:
    def finished_block(runs: int) -> float:
        start = clock()
        run(runs)
        accelerator.queue.synchronize()
        return clock() - start

    warm_up(finished_block, budget_seconds=WARM_UP_SECONDS)
    pace = find_pace(accelerator, run, clock)
    request = BlockRequest(run, pace.hot_runs(DEVICE_BLOCK_SECONDS), pace.host_seconds_per_run)
    return hide_launch(EventSampler(accelerator), request)


def _choose_sampler(
    accelerator: Accelerator, requests: Sequence[BlockRequest], source: SourceChoice, clock: Clock
) -> Sampler:
    events = EventSampler(accelerator)
    if source == "events" or accelerator.profiler is None:
        return events
    profiler = ProfilerSampler(accelerator)
    if source == "profiler":
        return profiler
    pilots = events.sample(requests)
    for request, pilot in zip(requests, pilots, strict=True):
        pace = find_pace(accelerator, request.run, clock)
        if pilot.seconds_per_run < SHORT_KERNEL_SECONDS or synchronises(accelerator, request.run, pace):
            return profiler
    return events


def _final(request: BlockRequest, cold: bool) -> BlockRequest:
    return replace(request, runs=min(request.runs, MOST_COLD_RUNS if cold else MOST_PROFILED_RUNS), cold=cold)


# Any accelerator that torch has.
ANY = "any"


@dataclasses.dataclass(frozen=True)
class DeviceSettings:
    """`device` is "cuda", "cuda:1" or ANY; `cold` flushes its cache before each run."""

    device: str = ANY
    cold: bool = False
    source: SourceChoice = "auto"
    seed: int | None = None


class DevicePair(Protocol):
    """Two statements whose replicates are taken in turn: here, or in a child."""

    @property
    def source(self) -> Source: ...

    def replicate(self) -> DeviceReplicate: ...


def rank_on_device(
    contenders: Sequence[Contender],
    settings: DeviceSettings,
    stopping: Stopping,
    *,
    num_threads: int,
    on_look: OnLook | None = None,
) -> Ranking:
    """Rank Python statements in this process, which may have the objects that they use."""
    from photometer.instruments.device.torch_accelerator import open_accelerator

    accelerator = open_accelerator(None if settings.device == ANY else settings.device)
    if not _share_setup(contenders):
        stopping = of_own_setups(stopping)
    with set_torch_threads(num_threads), _opened(contenders) as statements:
        return rank_opened(
            [contender.name for contender in contenders],
            statements,
            accelerator,
            settings,
            stopping,
            on_look=on_look,
        )


def rank_opened(
    names: Sequence[str],
    statements: Sequence[Statement],
    accelerator: Accelerator,
    settings: DeviceSettings,
    stopping: Stopping,
    *,
    on_look: OnLook | None = None,
    clock: Clock = time.perf_counter,
) -> Ranking:
    """Rank on any accelerator; tests use a fake one."""
    try:
        pairs = alternating_pairs(statements, accelerator, settings, clock)
        return rank_pairs(names, pairs, accelerator.name, settings, stopping, on_look=on_look, clock=clock)
    finally:
        accelerator.queue.release()
        if accelerator.profiler is not None:
            accelerator.profiler.detach()


def alternating_pairs(
    statements: Sequence[Statement], accelerator: Accelerator, settings: DeviceSettings, clock: Clock
) -> list[AlternatingPair]:
    """Return every pair of the statements, ready for replicates."""
    order = random.Random(settings.seed)
    return [
        AlternatingPair(
            accelerator,
            statements[a].run,
            statements[b].run,
            cold=settings.cold,
            source=settings.source,
            order=order,
            clock=clock,
        )
        for a, b in pairs_of(len(statements))
    ]


def rank_pairs(
    names: Sequence[str],
    pairs: Sequence[DevicePair],
    device_name: str,
    settings: DeviceSettings,
    stopping: Stopping,
    *,
    on_look: OnLook | None = None,
    clock: Clock = time.perf_counter,
) -> Ranking:
    """Take replicates of the pairs until all are decided, or the time is spent."""
    sampler = DeviceSampler(pairs, clock)
    ranking = rank_apart(names, sampler, stopping, on_look=on_look)
    cache = "cold" if settings.cold else "hot"

    def annotated(pair: PairVerdict, place: int) -> PairVerdict:
        source, megahertz = pairs[place].source.value, sampler.clock_in_words(place)
        measured_by = f"device time, {cache} cache, by {source}, on {device_name}{megahertz}"
        notes = (*pair.verdict.notes, *sampler.notes(place))
        return dataclasses.replace(
            pair, verdict=dataclasses.replace(pair.verdict, notes=notes, measured_by=measured_by)
        )

    return rank_statements(names, [annotated(pair, place) for place, pair in enumerate(ranking.pairs)])


def rank_built_on_device(
    session: Session,
    built: Mapping[str, BuiltSnippet],
    settings: DeviceSettings,
    stopping: Stopping,
    *,
    num_threads: int,
    timeout_seconds: float,
    on_look: OnLook | None = None,
) -> Ranking:
    """Rank compiled C++ by its name, all of it in one child: a crash there is an error here."""
    import photometer

    request = OpenPairs(
        package=str(Path(photometer.__file__).resolve()),
        statements=[[str(each.library), each.symbol] for each in built.values()],
        settings=dataclasses.asdict(settings),
    )
    with session.child() as child:
        child.ask(Prepare(num_threads=num_threads, seed=settings.seed), timeout_seconds)
        opened = child.ask(request, timeout_seconds + OPENING_SECONDS)
        pairs = [_PairInChild(child, place, Source(name), timeout_seconds) for place, name in enumerate(opened.sources)]
        return rank_pairs(list(built), pairs, opened.device_name, settings, of_own_setups(stopping), on_look=on_look)


def of_own_setups(stopping: Stopping) -> Stopping:
    """Return when to stop if each statement has a set-up of its own, even one of the same text."""
    bias = max(stopping.criteria.shared_bias, OWN_SETUPS_BIAS)
    return replace(stopping, criteria=replace(stopping.criteria, shared_bias=bias))


@dataclass(frozen=True)
class _PairInChild:
    child: ChildProcess
    place: int
    source: Source
    timeout_seconds: float

    def replicate(self) -> DeviceReplicate:
        taken = self.child.ask(TakeReplicate(self.place), self.timeout_seconds)
        return from_record(DeviceReplicate, taken.replicate)


@contextlib.contextmanager
def open_built_pairs(
    statements: Sequence[Sequence[str]], settings: DeviceSettings
) -> Iterator[tuple[str, list[AlternatingPair]]]:
    """In a child: open compiled statements, each a library and a symbol. Yield the device's name and all pairs."""
    from photometer.instruments.device.torch_accelerator import open_accelerator

    accelerator = open_accelerator(None if settings.device == ANY else settings.device)
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open_native(library, symbol)) for library, symbol in statements]
        yield accelerator.name, alternating_pairs(opened, accelerator, settings, time.perf_counter)


class DeviceSampler:
    """Takes replicates of pairs of statements on one accelerator, in this process; has notes on its clock."""

    def __init__(self, pairs: Sequence[DevicePair], clock: Clock) -> None:
        self._pairs = pairs
        self._clock = clock
        self._replicates: list[list[DeviceReplicate]] = [[] for _ in pairs]

    def sample(self, benchmark: int, turn: int) -> Sample:
        start = self._clock()
        replicate = self._pairs[benchmark].replicate()
        self._replicates[benchmark].append(replicate)
        return Sample(benchmark, (replicate.estimate,), self._clock() - start)

    def notes(self, pair: int) -> Iterator[str]:
        replicates = self._replicates[pair]
        set_aside = sum(replicate.pairs_set_aside for replicate in replicates)
        if set_aside:
            yield f"{set_aside} pairs of blocks were set aside: the device was held back (power or heat)"
        throughout = sum(replicate.throttled_throughout for replicate in replicates)
        if throughout:
            yield f"in {throughout} of {len(replicates)} replicates the device was held back (power or heat) throughout"
        clocks = self._megahertz(pair)
        in_cycles = [each.log_ratio_in_cycles for each in replicates if each.log_ratio_in_cycles is not None]
        if has_changed(clocks) and len(in_cycles) == len(replicates):
            difference = percent(math.expm1(hodges_lehmann(in_cycles)), signed=True)
            yield (
                f"the clock changed between {min(clocks):,} and {max(clocks):,} MHz: at one clock the difference would "
                f"be {difference}, if all of the time follows the clock"
            )

    def clock_in_words(self, pair: int) -> str:
        """Return the clock that the times of a pair were taken at, as the end of a sentence."""
        clocks = self._megahertz(pair)
        if not clocks:
            return ""
        low, high = min(clocks), max(clocks)
        return f" at {high:,} MHz" if low == high else f" at {low:,} to {high:,} MHz"

    def _megahertz(self, pair: int) -> list[int]:
        return [clock for replicate in self._replicates[pair] for clock in replicate.megahertz]


@contextlib.contextmanager
def _opened(contenders: Sequence[Contender]) -> Iterator[list[Statement]]:
    """Prepare all statements. A common set-up is run once, so that all read the same tensors: the address of a tensor
    in the device's memory alone makes a difference of 0.2 %. Different set-ups are run for each.
    """
    import torch

    shared: dict[str, Any] = {"torch": torch}
    is_shared = _share_setup(contenders)
    if is_shared:
        shared |= contenders[0].names
        exec(compile(contenders[0].setup, "<setup>", "exec"), shared)
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                open_statement(each.stmt, "pass" if is_shared else each.setup, {**shared, **_own(each, shared)})
            )
            for each in contenders
        ]


def _share_setup(contenders: Sequence[Contender]) -> bool:
    return len({contender.setup for contender in contenders}) == 1


def _own(contender: Contender, shared: dict[str, Any]) -> dict[str, Any]:
    """Return this contender's own names, without those that the set-up has assigned."""
    return {name: value for name, value in contender.names.items() if _is_ours(name) or name not in shared}


def _is_ours(name: str) -> bool:
    return name.startswith("_photometer_")
