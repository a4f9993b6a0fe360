"""Results of torch.utils.benchmark itself, as ours: what `Compare`, `save` and `Measurement.merge` do with them.

torch is not imported: an object of its classes exists only if someone has imported it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from photometer.model.instruction_counts import CallgrindStats, FunctionCounts
    from photometer.model.measurement import Measurement
    from photometer.model.task import TaskSpec

_TORCH = "torch.utils.benchmark"


def adopted(result: Any) -> Any:
    """Return our own record of a result that torch made; anything else unchanged."""
    name = _name_in_torch(result)
    if name == "Measurement":
        return measurement_like(result)
    if name == "CallgrindStats":
        return callgrind_stats_like(result)
    return result


def _name_in_torch(result: object) -> str | None:
    """Return the name of torch's class of which it is an instance; users may have derived from it."""
    for cls in type(result).__mro__:
        if cls.__module__.startswith(_TORCH):
            return cls.__name__
    return None


def measurement_like(m: Any) -> Measurement:
    from photometer.model.measurement import Measurement

    return Measurement(m.number_per_run, m.raw_times, _task_spec(m.task_spec), m.metadata)


def _task_spec(spec: Any) -> TaskSpec:
    from photometer.model.task import TASK_FIELDS, TaskSpec

    return TaskSpec(**{name: getattr(spec, name) for name in TASK_FIELDS if hasattr(spec, name)})


def callgrind_stats_like(stats: Any) -> CallgrindStats:
    from photometer.model.instruction_counts import CallgrindStats

    return CallgrindStats(
        task_spec=_task_spec(stats.task_spec),
        number_per_run=stats.number_per_run,
        built_with_debug_symbols=stats.built_with_debug_symbols,
        baseline_inclusive_stats=_function_counts(stats.baseline_inclusive_stats),
        baseline_exclusive_stats=_function_counts(stats.baseline_exclusive_stats),
        stmt_inclusive_stats=_function_counts(stats.stmt_inclusive_stats),
        stmt_exclusive_stats=_function_counts(stats.stmt_exclusive_stats),
        stmt_callgrind_out=stats.stmt_callgrind_out,
    )


def _function_counts(counts: Any) -> FunctionCounts:
    from photometer.model.instruction_counts import FunctionCount, FunctionCounts

    return FunctionCounts(tuple(FunctionCount(c, f) for c, f in counts), counts.inclusive)
