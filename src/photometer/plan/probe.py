"""Probes: the variants of a group, rewritten so that one run writes its result to a file. `photometer check` runs them.

In comes a variant's TimerArgs, out come TimerArgs whose statement makes new inputs (a warm-up may have changed the
first), runs once and writes the named values. The executor puts PROBE_FOLDER on the import and include paths, and
reports a ProbeOutcome per order.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from photometer.definition.checks import has_word
from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.python_names import ALWAYS_THERE, names_of
from photometer.definition.timer_args import TimerArgs
from photometer.model.task import Language
from photometer.plan.auto_labels import AutogradMode, AutoLabels
from photometer.plan.codegen_python import SEED
from photometer.plan.work_order import WorkOrder

PROBE_FOLDER = Path(__file__).parent / "probes"
# Stands for the path of the result's file.
RESULT_PLACEHOLDER = "@photometer-result@"

# By variable: the shape and the elements of each tensor in it, as the probes write them.
Values = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclasses.dataclass(frozen=True)
class ProbeOutcome:
    """One order's values, or the reason why there are none. An order that cannot be probed has neither.

    `skipped` is the reason of an order that says itself that it does not apply here.
    """

    order: WorkOrder
    values: Values | None = None
    error: str | None = None
    skipped: str | None = None


def probe_args(benchmark: GroupedBenchmark, auto: AutoLabels, args: TimerArgs) -> TimerArgs:
    python = auto.language is Language.PYTHON
    with_gradients = auto.autograd is AutogradMode.FORWARD_BACKWARD
    gradients = (benchmark.signature_args or ()) if with_gradients else ()
    write = _python_stmt if python else _cpp_stmt
    stmt = write(benchmark, args.stmt, result_names(benchmark), gradients)
    setup = f"import photometer_result\n{args.setup}" if python else args.setup
    global_setup = "" if python else f'#include "photometer_result.h"\n{args.global_setup}'
    return TimerArgs(stmt, setup, global_setup, args.num_threads, args.language, check=False)


def with_result_path(order: WorkOrder, path: str) -> WorkOrder:
    """Return the probe with the file to write to in place of its placeholder."""
    stmt = order.args.stmt.replace(RESULT_PLACEHOLDER, path)
    return dataclasses.replace(order, args=dataclasses.replace(order.args, stmt=stmt, check=False))


def result_names(benchmark: GroupedBenchmark) -> tuple[str, ...]:
    """Return the variables in which all variants must agree after a run.

    These are the signature's output; without an output its arguments, which the statement may change; without a
    signature what the Python statement assigns, or else reads, if the C++ statement has it too.
    """
    if benchmark.signature is not None:
        output = benchmark.signature.output
        return benchmark.signature.args if output is None else (output,)
    if benchmark.py_fwd_stmt is None:
        return ()
    names = names_of(benchmark.py_fwd_stmt)
    made = names_of(benchmark.setup.py_setup).bound
    read = [name for name in names.free if name not in ALWAYS_THERE and name in made]
    shared = [
        name
        for name in sorted(names.bound) or read
        if benchmark.cpp_fwd_stmt is None or has_word(benchmark.cpp_fwd_stmt, name)
    ]
    return tuple(shared)


def _python_stmt(benchmark: GroupedBenchmark, stmt: str, names: tuple[str, ...], gradients: tuple[str, ...]) -> str:
    values = [f'"{name}": {name}' for name in names]
    values += [f'"{name}.grad": getattr({name}, "grad", None)' for name in gradients]
    write = f'photometer_result.write_result("{RESULT_PLACEHOLDER}", {{{", ".join(values)}}})'
    # All ranks compute the same; one writes.
    write = f"if rank == 0: {write}" if benchmark.ranks else write
    return "\n".join(part for part in (f"torch.manual_seed({SEED})", benchmark.setup.py_setup, stmt, write) if part)


def _cpp_stmt(benchmark: GroupedBenchmark, stmt: str, names: tuple[str, ...], gradients: tuple[str, ...]) -> str:
    inner = [
        stmt,
        f'photometer_result::Writer photometer_writer("{RESULT_PLACEHOLDER}");',
        *(f'photometer_writer.add("{name}", {name});' for name in names),
        *(f'photometer_writer.add("{name}.grad", photometer_result::gradient_of({name}));' for name in gradients),
    ]
    # Nested blocks shadow names: new inputs those of the set-up, and the statement's output an input of the same name.
    return _block([f"torch::manual_seed({SEED});", benchmark.setup.cpp_setup, _block(inner)])


def _block(lines: list[str]) -> str:
    return "{\n" + textwrap.indent("\n".join(line for line in lines if line), "    ") + "\n}"
