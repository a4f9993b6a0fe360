"""The work of a run, FLOPs and bytes, as the author gave them or as counted in one run; and the machine's peak.

In: a session and a request. Out: WorkOfRun, without any run if the author gave both; MachinePeak, which is the same
for all orders of a device, a number of threads and a type, and is returned once per session.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from photometer.instruments.declaration import Asked, Beside, Instrument, Option
from photometer.instruments.peaks import peak_of
from photometer.instruments.ready_order import prepared_child, task_spec_of
from photometer.model.run_figures import MachinePeak, WorkOfRun
from photometer.model.task import Language
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import OrderFigures, WorkOrder
from photometer.session.session import Session
from photometer.worker.figure_messages import CountWork, Work

RATES = Option("rates", "Count FLOPs and bytes; compare GFLOP/s and GB/s with this machine's peak.")


def _is_countable(order: WorkOrder) -> bool:
    return order.args.language is Language.PYTHON and order.auto.runtime in (RuntimeMode.EAGER, RuntimeMode.EXPLICIT)


def _has_work(order: WorkOrder, options: Mapping[str, bool]) -> bool:
    figures = order.figures or OrderFigures()
    is_given = figures.flops is not None or figures.bytes is not None
    return is_given or (options.get(RATES.name, RATES.default) and _is_countable(order))


def measure_work(session: Session, asked: Asked) -> WorkOfRun:
    """Return the author's figures and, with rates, counts of one run for figures that the author did not give."""
    order, figures = asked.order, asked.order.figures or OrderFigures()
    given = WorkOfRun(
        task_spec_of(order),
        figures.flops,
        figures.bytes,
        flops_given=figures.flops is not None,
        bytes_given=figures.bytes is not None,
    )
    if not (asked.options.get(RATES.name, RATES.default) and _is_countable(order)):
        return given
    counted = _counted(session, asked)
    return dataclasses.replace(
        given,
        flops=given.flops if given.flops_given else counted.flops,
        bytes=given.bytes if given.bytes_given else counted.bytes,
        dtype=counted.dtype,
    )


def _counted(session: Session, asked: Asked) -> Work:
    with prepared_child(session, asked.ready, asked.cores) as child:
        return child.ask(CountWork(), asked.order.timeout_seconds)


def measure_peak(session: Session, asked: Asked) -> MachinePeak | None:
    """Return the peak for the type that most of the order's work is done in; None if this session has returned it."""
    dtype, order = _counted(session, asked).dtype, asked.order
    peak = peak_of(session, device=order.auto.device, num_threads=order.args.num_threads, dtype=dtype)
    return peak if session.remembered.setdefault(peak, asked.order.id) == asked.order.id else None


WORK = Instrument(
    name="work",
    doing="counting work",
    record=WorkOfRun,
    measure=measure_work,
    applies=_has_work,
    beside=Beside.OTHER_CORES,
    first_guess_seconds=0.2,
)

PEAK = Instrument(
    name="peak",
    doing="measuring the machine's peak",
    record=MachinePeak,
    measure=measure_peak,
    option=RATES,
    applies=lambda order, options: _is_countable(order),
    beside=Beside.OTHER_CORES,
    first_guess_seconds=0.5,
)
