"""Values that a statement leaves in its variables, run by run: its own metrics, and the phases of a training step."""

from __future__ import annotations

from photometer.instruments.declaration import Asked, Beside, Instrument
from photometer.instruments.ready_order import prepared_child, task_spec_of
from photometer.model.run_figures import MetricValues, ObservedMetrics, PhaseSeconds, PhaseTimes
from photometer.plan.work_order import phase_setup
from photometer.session.session import Session
from photometer.worker.figure_messages import Observe

# Values of a metric: enough for a median, few enough that a step of a second does not take a minute.
METRIC_RUNS = 5
# A phase is timed in single runs, so that more of them are needed.
PHASE_RUNS = 20
WARMUP_RUNS = 3


def observe_metrics(session: Session, asked: Asked) -> ObservedMetrics:
    """Read the metrics that the suite defines, after each of some runs."""
    order = asked.order
    assert order.figures is not None
    names = order.figures.metrics
    with prepared_child(session, asked.ready, asked.cores) as child:
        observed = child.ask(Observe(names, METRIC_RUNS), order.timeout_seconds)
    values = zip(names, observed.values, strict=True)
    return ObservedMetrics(task_spec_of(order), tuple(MetricValues(name, tuple(found)) for name, found in values))


def observe_phases(session: Session, asked: Asked) -> PhaseTimes:
    """Time the phases of a step: the clock is read between them, and the accelerator waited for."""
    order, figures = asked.order, asked.order.figures
    assert figures is not None
    device = order.auto.device.split(":")[0]
    clock = phase_setup(f"torch.{device}.synchronize()" if order.auto.on_device else "")
    setup = f"{asked.ready.setup}\n{clock}"
    with prepared_child(session, asked.ready, asked.cores, stmt=figures.phase_stmt, setup=setup) as child:
        observed = child.ask(Observe(figures.marks, PHASE_RUNS, WARMUP_RUNS), order.timeout_seconds)
    marks = observed.values
    phases = tuple(
        PhaseSeconds(name, tuple(max(end - start, 0.0) for start, end in zip(before, after, strict=True)))
        for name, before, after in zip(figures.phases, marks[:-1], marks[1:], strict=True)
    )
    return PhaseTimes(task_spec_of(order), phases)


METRICS = Instrument(
    name="metrics",
    doing="reading metrics",
    record=ObservedMetrics,
    measure=observe_metrics,
    applies=lambda order, options: bool(order.figures and order.figures.metrics),
    first_guess_seconds=0.5,
)

PHASES = Instrument(
    name="phases",
    doing="timing phases",
    record=PhaseTimes,
    measure=observe_phases,
    applies=lambda order, options: bool(order.figures and order.figures.phases),
    beside=Beside.OTHER_CORES,
    first_guess_seconds=0.5,
)
