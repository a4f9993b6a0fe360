"""The scheduler's promises, with an executor that runs nothing."""

from __future__ import annotations

import dataclasses
import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, TimerArgs
from photometer.errors import DefinitionError
from photometer.execution.executor import BuildSnippets, Done, Failure, MeasureOrder, Work
from photometer.execution.observer import NullObserver, RunState
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import run_plan
from photometer.execution.steps import BUILD, COUNT, SCRIPT, TIME, Step, finished_steps
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.task import Language
from photometer.plan import materialize
from photometer.stats.undisturbed import USUAL_VISITS
from photometer.worker.messages import TorchFacts
from tests.execution.fake_executor import FACTS, FakeExecutor, error, label_of, step_of

SCRIPTED = GroupedStmts(
    "y = x + 1",
    "auto y = x + 1;",
    GroupedSetup("x = torch.ones(2)", "auto x = torch::ones({2});"),
    signature="f(x) -> y",
    torchscript=True,
)


@pytest.fixture(autouse=True)
def _many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores are numbers here: nothing is pinned to them."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(128)))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: None)


def run(
    benchmarks: dict[Any, Any],
    executor: FakeExecutor,
    cores: int = 2,
    *,
    finished: Any = (),
    observer: Any = None,
    on_record: Callable[[dict[str, Any]], object] | None = None,
    facts: TorchFacts = FACTS,
    **settings: Any,
) -> tuple[list[dict[str, Any]], int]:
    records: list[dict[str, Any]] = []
    failed = run_plan(
        materialize(benchmarks),
        RunSettings(cores=tuple(range(cores)), **settings),
        executor,
        facts,
        on_record or records.append,
        finished=finished,
        observer=observer,
    )
    return records, failed


def labels_of(records: list[dict[str, Any]], kind: str) -> list[str]:
    return sorted(record["order"]["label"][-1] for record in records if record["kind"] == kind)


@pytest.mark.parametrize("cores", [1, 2, 5, 128])
def test_every_order_is_timed_and_counted_once(cores: int) -> None:
    executor = FakeExecutor(seconds=0.001)
    benchmarks = {str(i): TimerArgs("pass", num_threads=1 + i % 3) for i in range(30)}
    records, failed = run(benchmarks, executor, cores)
    assert failed == 0
    assert labels_of(records, "measurement") == labels_of(records, "instruction_counts") == sorted(benchmarks)
    assert len(executor.done(TIME)) == 30 * USUAL_VISITS
    assert len(executor.done(COUNT)) == 30


@pytest.mark.lengthy
@pytest.mark.parametrize("cores", [1, 2, 8, 32])
def test_no_core_is_used_twice_at_a_time(cores: int) -> None:
    executor = FakeExecutor(seconds=0.002, meet=(COUNT, TIME) if cores > 2 else ())
    run({str(i): TimerArgs("pass", num_threads=1 + i % 2) for i in range(24)} | {"s": SCRIPTED}, executor, cores)
    for moment in executor.together:
        used = [core for _, reserved in moment for core in reserved]
        assert len(used) == len(set(used))
    if cores > 2:
        assert max(len(moment) for moment in executor.together) > 1


def test_threads_get_neighbouring_cores_and_come_last() -> None:
    executor = FakeExecutor(seconds=0.001)
    run({"wide": TimerArgs("pass", num_threads=2), "a": TimerArgs("pass"), "b": TimerArgs("pass")}, executor, 4)
    assert executor.done(TIME)[-USUAL_VISITS:] == ["wide"] * USUAL_VISITS
    wide = next(work for work in executor.works if step_of(work) == TIME and label_of(work) == "wide")
    assert wide.cores == (2, 3)


def test_what_needs_a_model_or_a_library_waits_for_it() -> None:
    executor = FakeExecutor()
    run({"s": SCRIPTED}, executor, 1)
    steps = [step_of(work) for work in executor.works]
    assert steps.count(BUILD) == steps.count(SCRIPT) == 1
    measured = [work for work in executor.works if isinstance(work, MeasureOrder)]
    for work in executor.works[: steps.index(BUILD)]:
        assert not isinstance(work, MeasureOrder) or work.ready.order.args.language is Language.PYTHON
    loaded = [work.ready for work in measured if work.step == TIME and work.ready.order.model_id]
    assert len(loaded) == 2 * USUAL_VISITS
    for ready in loaded:
        assert ready.model_path is not None
        # A folder per version and build of torch, and per side of a comparison.
        assert re.fullmatch(rf".*/models/9\.9-[0-9a-f]{{8}}-a/{ready.order.model_id}\.pt", ready.model_path)
    (build,) = [work for work in executor.works if isinstance(work, BuildSnippets)]
    assert any(str(loaded[0].model_path) in snippet.setup for snippet in build.snippets)


def test_an_order_that_fails_is_not_counted_and_the_rest_go_on() -> None:
    executor = FakeExecutor(lambda work: error() if step_of(work) == TIME and label_of(work) == "bad" else None)
    records, failed = run({"bad": TimerArgs("pass"), "good": TimerArgs("pass")}, executor)
    assert failed == 1
    assert labels_of(records, "failure") == ["bad"]
    assert executor.done(COUNT) == ["good"]
    (failure,) = [record for record in records if record["kind"] == "failure"]
    assert (failure["step"], failure["attempts"], failure["message"]) == ("time", 1, "it broke")


def test_an_order_that_says_that_it_does_not_apply_is_skipped_and_not_failed() -> None:
    def skip(work: Work) -> Failure | None:
        is_wanted = step_of(work) == COUNT and label_of(work) == "other"
        return Failure("SkipTest", "not on this machine", skipped=True) if is_wanted else None

    titles: list[str] = []

    class GaveUp(NullObserver):
        def gave_up(self, title: str, reason: str) -> None:
            titles.append(title)

    benchmarks = {"other": TimerArgs("pass"), "good": TimerArgs("pass")}
    records, failed = run(benchmarks, FakeExecutor(skip), observer=GaveUp())
    assert (failed, titles) == (0, [])
    assert labels_of(records, "failure") == []
    (skipped,) = [record for record in records if record["kind"] == "skipped"]
    assert (skipped["reason"], skipped["order"]["label"]) == ("not on this machine", ["other"])
    done = {(order, step) for order, step in finished_steps(records) if order == skipped["order"]["id"]}
    assert (skipped["order"]["id"], "given up") in done
    assert labels_of(records, "instruction_counts") == ["good"]


def test_what_may_pass_is_tried_again_after_the_others() -> None:
    seen: list[str] = []

    def fail_first(work: Work) -> Failure | None:
        if step_of(work) == TIME:
            seen.append(label_of(work))
            return error(may_pass=True) if seen.count("shaky") == 1 and label_of(work) == "shaky" else None
        return None

    benchmarks = {"shaky": TimerArgs("pass"), "a": TimerArgs("pass"), "b": TimerArgs("pass")}
    records, failed = run(benchmarks, FakeExecutor(fail_first), 1)
    assert failed == 0
    assert len(seen) == 3 * USUAL_VISITS + 1
    assert labels_of(records, "measurement") == ["a", "b", "shaky"]


def test_what_keeps_crashing_is_given_up_after_its_retries() -> None:
    executor = FakeExecutor(lambda work: error(may_pass=True) if step_of(work) == TIME else None)
    records, failed = run({"a": TimerArgs("pass")}, executor)
    assert failed == 1
    assert executor.done(TIME) == ["a", "a"]
    assert records[0]["attempts"] == 2


def test_a_snippet_that_does_not_compile_takes_only_itself() -> None:
    def build(work: Work) -> Done | None:
        if not isinstance(work, BuildSnippets):
            return None
        return Done(outcomes=(error("no"), BuiltSnippet(Path("/l.so"), "s", cached=False)))

    cpp = {name: TimerArgs("f();", language=Language.CPP) for name in ("bad", "good")}
    records, failed = run(cpp, FakeExecutor(build))
    assert failed == 1
    assert labels_of(records, "failure") == ["bad"]
    assert labels_of(records, "measurement") == labels_of(records, "instruction_counts") == ["good"]


def test_a_model_that_cannot_be_scripted_takes_those_that_load_it() -> None:
    executor = FakeExecutor(lambda work: error("no script") if step_of(work) == SCRIPT else None)
    records, failed = run({"s": SCRIPTED}, executor)
    assert failed == 2
    assert [r["message"] for r in records if r["kind"] == "failure"] == ["no script"] * 2
    assert len(labels_of(records, "measurement")) == 2


def test_nothing_is_repeated_of_what_is_finished() -> None:
    benchmarks = {str(i): TimerArgs("pass") for i in range(6)} | {"s": SCRIPTED}
    whole, _ = run(benchmarks, FakeExecutor())
    for kept in range(0, len(whole), 3):
        executor = FakeExecutor()
        rest, _ = run(benchmarks, executor, finished=finished_steps(whole[:kept]))
        assert len(rest) == len(whole) - kept
        both = [(r["order"]["id"], r["kind"]) for r in [*whole[:kept], *rest]]
        assert len(set(both)) == len(both) == len(whole)


def test_only_what_is_asked_for_is_measured() -> None:
    for asked, step in ({"instructions": False}, TIME), ({"wall": False}, COUNT):
        executor = FakeExecutor()
        run({"a": TimerArgs("pass")}, executor, options=asked)
        assert {step_of(work) for work in executor.works} == {step}


def test_the_observer_sees_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.execution.scheduler.LEAST_SECONDS_BETWEEN_LOOKS", 0.0)

    class Notes:
        def __init__(self) -> None:
            self.states: list[RunState] = []
            self.given_up: list[str] = []
            self.measured_seconds: dict[str, float] = {}

        def progressed(self, state: RunState) -> None:
            self.states.append(state)

        def measured(self, title: str, seconds: float) -> None:
            self.measured_seconds[title] = seconds

        def gave_up(self, title: str, reason: str) -> None:
            self.given_up.append(f"{title}: {reason}")

    notes = Notes()
    executor = FakeExecutor(lambda work: error() if step_of(work) == COUNT else None)
    run({"a": TimerArgs("pass")}, executor, observer=notes)
    assert notes.given_up == ["a [python]: it broke"]
    assert notes.measured_seconds == {"a [python]": pytest.approx(1.02e-6)}
    first, last = notes.states[0], notes.states[-1]
    assert (first.words, last.words, last.failed_orders) == ("0 of 1 variants", "1 of 1 variants", 1)
    assert (first.share_done, last.share_done) == (0.0, 1.0)
    assert pytest.approx(1 / (USUAL_VISITS + 1)) in [state.share_done for state in notes.states]
    assert notes.states[-1].seconds_left == 0
    assert ("a [python]",) in [state.now for state in notes.states]


def test_an_exception_of_the_near_side_ends_the_run() -> None:
    def full(record: dict[str, Any]) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        run({"a": TimerArgs("pass")}, FakeExecutor(), on_record=full)


@pytest.mark.lengthy
def test_memory_does_not_grow_with_what_is_finished() -> None:
    held: list[int] = []

    def measure(record: dict[str, Any]) -> None:
        held.append(tracemalloc.get_traced_memory()[0])

    executor = FakeExecutor()
    executor.works = executor.together = _Forgetful()
    tracemalloc.start()
    try:
        run({str(i): TimerArgs("pass") for i in range(600)}, executor, 1, on_record=measure)
    finally:
        tracemalloc.stop()
    assert len(held) == 1200
    # A record is some 500 bytes; a thousand that were kept would show as half a megabyte.
    assert held[-1] - held[100] < 150_000


class _Forgetful(list[Any]):
    def append(self, item: Any) -> None:
        pass


ON_DEVICES = GroupedStmts(
    "y = x + 1",
    "auto y = x + 1;",
    GroupedSetup("x = torch.ones(2, device=device)", "auto x = torch::ones({2}).to(device);"),
    devices=("cpu", "cuda"),
)


def test_an_accelerators_orders_are_timed_on_it_and_not_counted() -> None:
    executor = FakeExecutor()
    records, failed = run({"add": ON_DEVICES}, executor)
    assert failed == 0
    measured = [work for work in executor.works if isinstance(work, MeasureOrder)]
    on_device = [work.ready.order.auto for work in measured if work.step == Step("device")]
    assert {(auto.device, auto.language) for auto in on_device} == {("cuda", Language.PYTHON), ("cuda", Language.CPP)}
    assert {work.ready.order.auto.device for work in measured if work.step == COUNT} == {"cpu"}
    assert labels_of(records, "device_measurement") == ["add", "add"]


@pytest.mark.lengthy
def test_nothing_is_timed_beside_work_on_the_one_accelerator() -> None:
    executor = FakeExecutor(seconds=0.01)
    run({f"add {i}": ON_DEVICES for i in range(4)}, executor, cores=64, options={"instructions": False})
    timed = [sum(step in (TIME, Step("device")) for step, _ in moment) for moment in executor.together]
    assert max(timed) == 1


@pytest.mark.parametrize(("benchmarks", "at_once"), [(1, 1), (4, 2)])
def test_few_compilations_are_worth_a_server_for_each_core(benchmarks: int, at_once: int) -> None:
    """One takes as long as twenty counts of a statement; a second server starts in the time of two."""
    compiled = GroupedStmts("y = x + 1", setup=GroupedSetup("x = 1"), signature="f(x) -> y", compiled="backend:eager")
    options = {"compile_counts": True, "wall": False, "instructions": False, "compile_report": False}
    executor = FakeExecutor(seconds=0.02, meet=(Step("compile_counts"),) * at_once)
    run({f"add {i}": compiled for i in range(benchmarks)}, executor, cores=2, options=options)
    counted = [sum(step == Step("compile_counts") for step, _ in moment) for moment in executor.together]
    assert max(counted) == at_once


def of_models(**models: str) -> TorchFacts:
    return dataclasses.replace(FACTS, device_models={name.replace("_", ":"): model for name, model in models.items()})


@pytest.mark.lengthy
def test_every_accelerator_of_a_kind_has_orders_of_its_own() -> None:
    device_step = Step("device")
    executor = FakeExecutor(seconds=0.02, meet=(device_step, device_step))
    facts = of_models(cuda_0="Fake 9000", cuda_1="Fake 9000", cuda_2="an older one")
    run({f"add {i}": ON_DEVICES for i in range(4)}, executor, cores=64, options={"instructions": False}, facts=facts)
    together = [sum(step == device_step for step, _ in moment) for moment in executor.together]
    assert max(together) == 2
    works = [work for work in executor.works if isinstance(work, MeasureOrder)]
    assert {work.ready.visible_devices for work in works if work.step == device_step} == {(0,), (1,)}
    assert {work.ready.visible_devices for work in works if work.order.auto.device == "cpu"} == {()}


def test_a_finished_device_step_is_not_repeated() -> None:
    records, _ = run({"add": ON_DEVICES}, FakeExecutor())
    executor = FakeExecutor()
    run({"add": ON_DEVICES}, executor, finished=finished_steps(records))
    assert executor.works == []


def test_what_fails_at_a_figure_leaves_the_other_steps_of_its_order() -> None:
    executor = FakeExecutor(lambda work: error() if step_of(work) == Step("memory") else None)
    records, failed = run({"a": TimerArgs("pass")}, executor, options={"memory": True})
    assert failed == 1
    assert [record["kind"] for record in records] == ["measurement", "failure", "instruction_counts"]
    (order_id,) = {record["order"]["id"] for record in records}
    # Neither is done again.
    assert finished_steps(records) == {(order_id, "time"), (order_id, "memory"), (order_id, "count")}


def test_a_step_has_the_name_of_an_instrument() -> None:
    with pytest.raises(DefinitionError, match="no step 'weigh'"):
        Step("weigh")


RUNGS: dict[Any, Any] = {
    ("call", "ground"): GroupedStmts("0", tags=("ladder:0",)),
    ("call", "middle"): GroupedStmts("1", tags=("ladder:1>0",)),
    ("call", "top"): GroupedStmts("2", tags=("ladder:2>1",)),
}
CLIMB = Step("ladder")
STEP = {"kind": "ladder_step", "call": "call", "rung": "a", "below": "b"}


def climbing(work: Work) -> Done | None:
    return Done(STEP) if step_of(work) == CLIMB else None


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_what_is_measured_against_another_order_waits_for_it(cores: int) -> None:
    executor = FakeExecutor(climbing, seconds=0.001)
    records, failed = run(RUNGS, executor, cores)
    assert failed == 0
    assert labels_of(records, "ladder_step") == ["middle", "top"]
    for work in executor.works:
        if isinstance(work, MeasureOrder) and work.step == CLIMB:
            timed = {label_of(each) for each in executor.works[: executor.works.index(work)] if step_of(each) == TIME}
            (below,) = work.against
            assert {label_of(work), below.order.label[-1]} <= timed
    pairs = [(label_of(each), each.against[0].order.label[-1]) for each in executor.works if step_of(each) == CLIMB]  # type: ignore[union-attr]
    assert sorted(pairs) == [("middle", "ground"), ("top", "middle")]


def test_nothing_is_measured_against_an_order_that_was_given_up() -> None:
    def decide(work: Work) -> Done | Failure | None:
        return error() if step_of(work) == TIME and label_of(work) == "ground" else climbing(work)

    executor = FakeExecutor(decide)
    records, failed = run(RUNGS, executor)
    assert failed == 1
    assert labels_of(records, "ladder_step") == ["top"]
    assert labels_of(records, "instruction_counts") == ["middle", "top"]
    # Nor when the run is continued.
    again = FakeExecutor(climbing)
    rest, _ = run(RUNGS, again, finished=finished_steps(records))
    assert (rest, again.works) == ([], [])


def test_a_pair_that_fails_for_a_moment_is_tried_again_and_leaves_the_other_steps() -> None:
    tries: list[str] = []

    def decide(work: Work) -> Done | Failure | None:
        if step_of(work) == CLIMB:
            tries.append(label_of(work))
            return error(may_pass=label_of(work) == "middle")
        return None

    records, failed = run(RUNGS, FakeExecutor(decide))
    assert failed == 2
    assert sorted(tries) == ["middle", "middle", "top"]
    assert labels_of(records, "failure") == ["middle", "top"]
    assert labels_of(records, "instruction_counts") == ["ground", "middle", "top"]
    assert run(RUNGS, FakeExecutor(climbing), finished=finished_steps(records)) == ([], 0)


def test_a_run_that_was_stopped_measures_the_pairs_that_are_left() -> None:
    whole, _ = run(RUNGS, FakeExecutor(climbing))
    rest, _ = run(
        RUNGS, FakeExecutor(climbing), finished=finished_steps(each for each in whole if each["kind"] != "ladder_step")
    )
    assert labels_of(rest, "ladder_step") == ["middle", "top"]
    assert len(rest) == 2


def test_a_quick_run_measures_no_pairs() -> None:
    executor = FakeExecutor(climbing)
    run(RUNGS, executor, quick=True)
    assert executor.done(CLIMB) == []
