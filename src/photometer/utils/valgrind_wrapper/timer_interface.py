"""What torch.utils.benchmark.utils.valgrind_wrapper.timer_interface offers: counts of functions, and who takes them."""

from __future__ import annotations

import functools
from typing import Any

from photometer.model.copy_if_callgrind import CopyIfCallgrind, Serialization
from photometer.model.instruction_counts import CallgrindStats, FunctionCount, FunctionCounts
from photometer.model.task import TaskSpec

__all__ = ["CallgrindStats", "CopyIfCallgrind", "FunctionCount", "FunctionCounts", "Serialization", "wrapper_singleton"]


class ValgrindWrapper:
    """Takes counts as torch's wrapper does. There are no compiled bindings: a few bytes of code ask Valgrind."""

    _bindings_module = None

    def collect_callgrind(
        self,
        task_spec: TaskSpec,
        globals: dict[str, Any],
        *,
        number: int,
        repeats: int,
        collect_baseline: bool,
        is_python: bool,
        retain_out_file: bool,
    ) -> tuple[CallgrindStats, ...]:
        """Return one count per repeat."""
        from photometer.timing import Timer

        timer = Timer(
            task_spec.stmt,
            task_spec.setup,
            task_spec.global_setup,
            globals=globals,
            label=task_spec.label,
            sub_label=task_spec.sub_label,
            description=task_spec.description,
            env=task_spec.env,
            num_threads=task_spec.num_threads,
            language="python" if is_python else "cpp",
        )
        return timer.collect_callgrind(
            number, repeats=repeats, collect_baseline=collect_baseline, retain_out_file=retain_out_file
        )


@functools.lru_cache(maxsize=1)
def wrapper_singleton() -> ValgrindWrapper:
    """Return the one wrapper of this process."""
    return ValgrindWrapper()
