"""do_bench, with the arguments of `triton.testing.do_bench`: the time of a callable on the device, without its launch.

In: a callable. Out: milliseconds. Triton's own reads events around each call, which include the time in which the
device waits for the host to launch a short kernel. Here the launches are queued ahead, or kernel times are read from
the profiler, as in `Timer.measure_device`; the cache is flushed before each run, as in Triton's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from photometer.errors import DefinitionError, MeasurementError
from photometer.instruments.clock import Clock
from photometer.stats.summary import quantile

if TYPE_CHECKING:
    from photometer.instruments.device.accelerator import Accelerator

ReturnMode = Literal["min", "max", "mean", "median", "all"]
MILLISECONDS = 1e3


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: ReturnMode = "mean",
) -> float | list[float]:
    """Return the milliseconds that `fn` takes on the accelerator of this process, its cache flushed before each run.

    `warmup` and `rep` are milliseconds; gradients of `grad_to_none` are cleared before each run. With `quantiles`,
    these are returned (one alone as a number), otherwise what `return_mode` says. Each of "all" is the mean of a block
    of runs, if they are short. Raise DeviceMissing if there is no accelerator.
    """
    _check(warmup, rep, quantiles, return_mode)
    from photometer.instruments.device.torch_accelerator import open_accelerator

    found = device_milliseconds(fn, open_accelerator(), warmup, rep, grad_to_none or ())
    return _summary(found, quantiles, return_mode)


def device_milliseconds(
    fn: Callable[[], Any],
    accelerator: Accelerator,
    warmup: float,
    rep: float,
    grad_to_none: Sequence[Any] = (),
    *,
    clock: Clock = time.perf_counter,
) -> list[float]:
    """Return the time per run of each block; tests pass a fake accelerator and its clock."""
    from photometer.instruments.device.device_times import DeviceTimer
    from photometer.instruments.device.host_side import find_pace, synchronises
    from photometer.instruments.device.options import DeviceOptions
    from photometer.instruments.wall_time import warm_up

    def run(runs: int) -> float:
        start = clock()
        for _ in range(runs):
            for tensor in grad_to_none:
                tensor.grad = None
            fn()
        return clock() - start

    def finished(runs: int) -> float:
        start = clock()
        run(runs)
        accelerator.queue.synchronize()
        return clock() - start

    try:
        finished(1)
        warm_up(finished, budget_seconds=warmup / MILLISECONDS)
        pace = find_pace(accelerator, run, clock)
        waits = synchronises(accelerator, run, pace)
        # Allocate the buffer that flushes the cache before anything is timed.
        accelerator.queue.flush_cache()
        timer = DeviceTimer(accelerator, run, pace, DeviceOptions(rep / MILLISECONDS), clock=clock)
        cold = timer.with_profiler(*timer.by_events(), synchronises=waits).cold
    finally:
        if accelerator.profiler is not None:
            accelerator.profiler.detach()
        accelerator.queue.release()
    if not cold.measured:
        raise MeasurementError(
            f"do_bench: {cold.absent_because}", remedy="Use photometer.Timer for what runs on the CPU."
        )
    return [MILLISECONDS * seconds for seconds in cold.seconds_per_run]


def _check(warmup: float, rep: float, quantiles: Sequence[float] | None, return_mode: str) -> None:
    if not warmup >= 0 or not rep > 0:
        raise DefinitionError(f"warmup is {warmup!r} and rep {rep!r}", remedy="Give milliseconds.")
    if return_mode not in get_args(ReturnMode):
        raise DefinitionError(
            f"return_mode is {return_mode!r}", remedy=f"Give one of {', '.join(get_args(ReturnMode))}."
        )
    if quantiles is not None and (not quantiles or not all(0 <= each <= 1 for each in quantiles)):
        raise DefinitionError(
            f"quantiles is {quantiles!r}", remedy="Give numbers from 0 to 1, such as [0.5, 0.2, 0.8]."
        )


def _summary(found: list[float], quantiles: Sequence[float] | None, return_mode: ReturnMode) -> float | list[float]:
    in_order = sorted(found)
    if quantiles is not None:
        values = [quantile(in_order, each) for each in quantiles]
        return values[0] if len(values) == 1 else values
    if return_mode == "all":
        return found
    if return_mode == "mean":
        return sum(found) / len(found)
    return {"min": in_order[0], "max": in_order[-1], "median": quantile(in_order, 0.5)}[return_mode]
