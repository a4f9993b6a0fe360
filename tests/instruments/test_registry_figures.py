"""What a run measures beside times: work, metrics, phases; real children, small statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, TrainingStep
from photometer.execution.agenda import Agenda
from photometer.execution.executor import Failure, MeasureOrder
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.run_file import identified
from photometer.execution.steps import Step, finished_steps
from photometer.instruments import work
from photometer.instruments.device.energy import ENERGY
from photometer.instruments.observed import METRICS, PHASES
from photometer.instruments.ready_order import ReadyOrder
from photometer.instruments.work import PEAK, WORK, peak_of
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrders
from photometer.session.session import Session
from tests.session.fake_session import FakeServers

pytestmark = pytest.mark.lengthy

SETUP = GroupedSetup("x = torch.rand(n)")


@pytest.fixture(autouse=True)
def small_peaks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(work, "CPU_MATRICES", (16, 32))
    monkeypatch.setattr(work, "CPU_COPY_BYTES", 1 << 16)
    monkeypatch.setattr(work, "SHORTEST_BLOCK_SECONDS", 1e-4)


FIGURES = (PHASES, ENERGY, WORK, PEAK, METRICS)


def taken(
    plan: WorkOrders, session: Session, records: Sequence[Mapping[str, Any]] = (), **options: bool
) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """The records of all steps that the scheduler would take for a plan, and what failed."""
    agenda = Agenda(
        plan,
        [Step(each.name) for each in FIGURES if each.is_asked(options)],
        finished=finished_steps(records),
        options=options,
    )
    executor = LocalExecutor(session)
    found: dict[str, Mapping[str, Any]] = {}
    problems = []
    while job := agenda.next_early() or agenda.next_quiet(wide=False) or agenda.next_late(count=True):
        agenda.take(job)
        assert job.order is not None
        outcome = executor.execute(MeasureOrder(ReadyOrder(job.order), step=job.step, options=options))
        if isinstance(outcome, Failure):
            problems.append(f"{job.title}: {outcome.message}")
            agenda.failed(job)
            continue
        agenda.done(job)
        if outcome.record is not None:
            found[str(outcome.record["kind"])] = identified(outcome.record, job.order)
    return found, problems


def test_nothing_is_asked_of_a_plain_suite() -> None:
    (order,) = materialize({"a": GroupedStmts("x + 1", setup=SETUP, sizes={"n": (4,)})})
    assert not any(each.is_asked({}) and each.applies(order, {}) for each in FIGURES)
    assert [each.name for each in FIGURES if each.applies(order, {"rates": True})] == ["work", "peak"]


def test_given_work_needs_no_run(session: Session) -> None:
    plan = materialize({"a": GroupedStmts("x + 1", setup=SETUP, sizes={"n": (4,)}, flops="n", bytes=32)})
    found, _ = taken(plan, session)
    assert set(found) == {"work"}
    assert (found["work"]["flops"], found["work"]["bytes"], found["work"]["flops_given"]) == (4.0, 32.0, True)


def test_rates_count_what_is_absent_and_measure_the_peak_once(session: Session) -> None:
    plan = materialize({"a": GroupedStmts("y = x + 1", setup=SETUP, sizes={"n": (4,)}, flops="n")})
    found, problems = taken(plan, session, rates=True)
    assert problems == []
    assert found["work"]["bytes"] == 32.0
    assert "bytes_given" not in found["work"]
    assert found["machine_peak"]["flops_per_second"] > 0
    kept = peak_of(session)
    assert (kept.flops_per_second, kept.dtype) == (found["machine_peak"]["flops_per_second"], "float32")


def test_a_step_of_training_has_phases_and_its_loss(session: Session) -> None:
    step = TrainingStep(
        "model = torch.nn.Linear(4, 1)", "x = torch.rand(8, 4)", "loss = y.square().mean()", forward="y = model(x)"
    )
    plan = materialize({"step": step})
    found, problems = taken(plan, session)
    assert problems == []
    assert [phase["name"] for phase in found["phases"]["phases"]] == ["clear", "forward", "loss", "backward", "update"]
    (loss,) = found["metrics"]["metrics"]
    # Gradients are cleared and the weights updated: it falls from run to run.
    assert loss["values"] == sorted(loss["values"], reverse=True)
    again, _ = taken(plan, session, records=list(found.values()))
    assert again == {}


def test_a_metric_that_is_no_number_is_a_problem_of_that_order_alone(session: Session) -> None:
    bad = GroupedStmts("word = 'text'", metrics="word")
    good = GroupedStmts("count = 3", metrics="count")
    found, problems = taken(materialize({"bad": bad, "good": good}), session)
    assert found["metrics"]["order"]["label"] == ["good"]
    assert len(problems) == 1
    assert "the metric word" in problems[0]


def test_an_order_that_failed_is_left_alone(session: Session) -> None:
    plan = materialize({"a": GroupedStmts("count = 3", metrics="count")})
    failure = {"kind": "failure", "order": {"id": plan.orders[0].id}}
    assert taken(plan, session, records=[failure]) == ({}, [])


def test_energy_is_measured_of_what_runs_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    joules = iter(range(0, 1000, 100))
    monkeypatch.setattr("photometer.instruments.device.energy.open_energy_counter", lambda number: lambda: next(joules))
    monkeypatch.setattr("photometer.instruments.device.energy.IDLE_SECONDS", 0.0)
    monkeypatch.setattr("photometer.instruments.device.energy.UPDATE_SECONDS", 0.0)
    group = GroupedStmts("x + 1", setup=GroupedSetup("x = torch.rand(4, device=device)"), devices=("cpu", "cuda"))
    with FakeServers().session() as session:
        found, problems = taken(materialize({"a": group}), session, energy=True)
    assert problems == []
    assert found["energy"]["order"]["auto"]["device"] == "cuda"
    assert found["energy"]["runs"] == 1
