"""materialize: from a suite to its work orders, one for every variant of every group.

In comes a Suite (or the dict an author wrote), out come WorkOrders. Only text and hashes are made; nothing is run.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from photometer.definition.compile_variant import CompileVariant
from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.suite import Suite, SuiteEntry, content_hash
from photometer.definition.sweep import SizePoint
from photometer.definition.timer_args import TimerArgs
from photometer.model.records import to_record
from photometer.model.task import Language
from photometer.plan.auto_labels import AutogradMode, AutoLabels, RuntimeMode
from photometer.plan.codegen_cpp import cpp_global_setup, cpp_setup, cpp_statement
from photometer.plan.codegen_python import python_setup, python_statement, scripting_source
from photometer.plan.compiled_statement import eager_args, other_sizes
from photometer.plan.probe import probe_args
from photometer.plan.work_order import (
    DEFAULT_RETRIES,
    DEFAULT_TIMEOUT_SECONDS,
    ScriptingJob,
    WorkOrder,
    WorkOrders,
    order_figures,
)


def materialize(
    suite: Suite | Mapping[Any, Any],
    *,
    available_devices: Collection[str] | None = None,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    retries: int = DEFAULT_RETRIES,
    probe: bool = False,
) -> WorkOrders:
    """Return every work order of the suite.

    With `available_devices`, variants for other devices are left out. With `probe`, every order of a group instead
    writes the result of one run to a file (see probe.py), under the id of the order it stands for.
    """
    suite = suite if isinstance(suite, Suite) else Suite.from_benchmarks(suite)
    orders: list[WorkOrder] = []
    jobs: dict[str, ScriptingJob] = {}
    for entry in suite.entries:
        benchmark = entry.benchmark
        if isinstance(benchmark, TimerArgs):
            auto = AutoLabels(RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT, benchmark.language, benchmark.num_threads)
            order = _order(entry, auto, benchmark, timeout_seconds=timeout_seconds, retries=retries)
            orders.append(dataclasses.replace(order, preload=suite.preload))
            continue
        limit = benchmark.timeout_seconds or timeout_seconds
        scripts: dict[SizePoint, ScriptingJob] = {}
        for auto in _variants(benchmark, available_devices):
            job = None
            if auto.runtime is RuntimeMode.TORCHSCRIPT:
                if auto.sizes not in scripts:
                    scripts[auto.sizes] = ScriptingJob.of(scripting_source(benchmark, auto.sizes))
                job = scripts[auto.sizes]
            args = _timer_args(benchmark, auto, "" if job is None else job.placeholder)
            if args is None:
                continue
            order = _order(entry, auto, args, timeout_seconds=limit, retries=retries)
            if probe:
                order = dataclasses.replace(order, args=probe_args(benchmark, auto, args))
            others = other_sizes(benchmark, auto, args.stmt)
            eager = eager_args(benchmark, auto)
            order = dataclasses.replace(order, recompile_with=others, eager_args=eager, preload=suite.preload)
            if job is not None:
                jobs[job.id] = job
                order = dataclasses.replace(order, model_id=job.id)
            orders.append(order)
    return WorkOrders(suite.name, suite.fingerprint, tuple(orders), tuple(jobs.values()))


def _variants(benchmark: GroupedBenchmark, available_devices: Collection[str] | None) -> Iterator[AutoLabels]:
    """Yield the labels of every combination of the group's threads, devices, sizes and other axes."""
    plain = CompileVariant()
    runtimes = [(RuntimeMode.EAGER, plain)]
    runtimes += [(RuntimeMode.TORCHSCRIPT, plain)] if benchmark.torchscript else []
    runtimes += [(RuntimeMode.COMPILED, variant) for variant in benchmark.compiled]
    autograds = [AutogradMode.FORWARD, *([AutogradMode.FORWARD_BACKWARD] if benchmark.autograd else [])]
    languages = (Language.PYTHON, Language.CPP)
    devices = [
        device
        for device in benchmark.devices or ("cpu",)
        if available_devices is None or device.split(":")[0] == "cpu" or device in available_devices
    ]
    modes = itertools.product(runtimes, autograds, languages, benchmark.num_threads, devices, benchmark.ranks or (0,))
    for sizes, ((runtime, variant), autograd, language, num_threads, device, ranks) in itertools.product(
        benchmark.sizes, modes
    ):
        if _has_room(device, ranks, available_devices):
            yield AutoLabels(runtime, autograd, language, num_threads, device, sizes, variant, ranks)


def _has_room(device: str, ranks: int, available_devices: Collection[str] | None) -> bool:
    """Return whether there is a device for each rank."""
    if available_devices is None or device == "cpu":
        return True
    return ranks <= sum(name.startswith(f"{device}:") for name in available_devices)


def _timer_args(benchmark: GroupedBenchmark, auto: AutoLabels, model_path: str) -> TimerArgs | None:
    """Return the variant's code, or None if the benchmark has none in that language."""
    python = auto.language is Language.PYTHON
    stmt = (python_statement if python else cpp_statement)(benchmark, auto)
    if stmt is None:
        return None
    setup = (python_setup if python else cpp_setup)(benchmark, auto, stmt, model_path)
    global_setup = "" if python else cpp_global_setup(benchmark, auto)
    return TimerArgs(stmt, setup, global_setup, auto.num_threads, auto.language, check=False)


def _order(entry: SuiteEntry, auto: AutoLabels, args: TimerArgs, *, timeout_seconds: float, retries: int) -> WorkOrder:
    # Only what is measured goes into the id: a longer time limit does not make it another order.
    identity = content_hash([entry.label, _auto_record(auto), to_record(args)])
    grouped = entry.benchmark if isinstance(entry.benchmark, GroupedBenchmark) else None
    tags = () if grouped is None else grouped.tags
    return WorkOrder(
        identity,
        entry.label,
        auto,
        args,
        tags,
        timeout_seconds=timeout_seconds,
        retries=retries,
        margin=None if grouped is None else grouped.margin,
        fail_on=None if grouped is None else grouped.fail_on,
        figures=None if grouped is None else order_figures(grouped, auto),
    )


@functools.lru_cache(maxsize=1024)
def _auto_record(auto: AutoLabels) -> dict[str, Any]:
    """Return the record; a suite of thousands of entries has the same few labels in each."""
    return to_record(auto)
