"""What is measured after the times: work, metrics, phases; real children, small statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, TrainingStep
from photometer.execution.figure_pass import FigureSettings, asks_for_figures, measure_figures
from photometer.instruments import peaks
from photometer.instruments.peaks import peak_of
from photometer.model.environment import Environment
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrders
from photometer.session.session import Session
from tests.session.fake_session import FakeServers

SETUP = GroupedSetup("x = torch.rand(n)")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(Environment.current()) as opened:
        yield opened


@pytest.fixture(autouse=True)
def small_peaks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(peaks, "CPU_MATRICES", (16, 32))
    monkeypatch.setattr(peaks, "CPU_COPY_BYTES", 1 << 16)
    monkeypatch.setattr(peaks, "BLOCK_SECONDS", 1e-4)


def taken(plan: WorkOrders, session: Session, **options: Any) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    records: list[Mapping[str, Any]] = []
    problems: list[str] = []
    records_before = options.pop("records", ())
    measure_figures(
        plan,
        session,
        FigureSettings(**options),
        records.append,
        records=records_before,
        on_problem=lambda title, reason: problems.append(f"{title}: {reason}"),
    )
    return {str(record["kind"]): record for record in records}, problems


def test_nothing_is_asked_of_a_plain_suite() -> None:
    plan = materialize({"a": GroupedStmts("x + 1", setup=SETUP, sizes={"n": (4,)})})
    assert not asks_for_figures(plan, FigureSettings())
    assert asks_for_figures(plan, FigureSettings(rates=True))


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
    monkeypatch.setattr("photometer.execution.figure_pass.open_energy_counter", lambda number: lambda: next(joules))
    monkeypatch.setattr("photometer.instruments.device.energy.IDLE_SECONDS", 0.0)
    monkeypatch.setattr("photometer.instruments.device.energy.UPDATE_SECONDS", 0.0)
    group = GroupedStmts("x + 1", setup=GroupedSetup("x = torch.rand(4, device=device)"), devices=("cpu", "cuda"))
    with FakeServers().session() as session:
        found, problems = taken(materialize({"a": group}), session, energy=True)
    assert problems == []
    assert found["energy"]["order"]["auto"]["device"] == "cuda"
    assert found["energy"]["runs"] == 1
