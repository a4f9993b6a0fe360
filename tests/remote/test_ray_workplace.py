"""Real Ray, with several nodes on this machine; the nodes' instrument is a stand-in."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import GroupedStmts, TimerArgs
from photometer.errors import NodesGone, WorkerStartError
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import run_plan
from photometer.execution.steps import COUNT
from photometer.plan import materialize
from photometer.remote.cluster import Cluster
from photometer.remote.node_actors import MOST_RESTARTS, Wanted
from photometer.remote.ray_workplace import RayWorkplace
from tests.execution.fake_executor import FACTS, FakeExecutor
from tests.execution.test_scheduler import ON_DEVICES
from tests.remote.ray_commands import simulated_cluster
from tests.remote.stand_in import StandIn, environment
from tests.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.lengthy

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install photometer[ray]")

Record = dict[str, Any]


@pytest.fixture(scope="module")
def simulated() -> Iterator[Any]:
    """A head without CPUs and two nodes with two each."""
    with simulated_cluster(2, 2) as cluster:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster


def place_on(remarks: list[str] | None = None, most_nodes: int | None = None, **told: object) -> RayWorkplace:
    restarts = int(str(told.pop("RESTARTS", MOST_RESTARTS)))
    wanted = Wanted(environment(**told), FACTS, most_nodes, actor_class=StandIn, most_restarts=restarts)
    return RayWorkplace(Cluster("auto"), wanted, (remarks if remarks is not None else []).append)


def run(place: RayWorkplace, benchmarks: dict[str, Any], devices: Sequence[str] = (), **settings: Any) -> list[Record]:
    records: list[Record] = []
    chosen = RunSettings(**{"options": {"wall": False}, **settings})
    plan = materialize(benchmarks, available_devices=devices) if devices else materialize(benchmarks)
    run_plan(plan, chosen, FakeExecutor(_never), FACTS, records.append, workplace=place)
    return records


def _never(work: Any) -> Any:
    raise AssertionError("the driver measures nothing itself")


def many(count: int) -> dict[str, TimerArgs]:
    return {str(number): TimerArgs("pass") for number in range(count)}


def labels(records: list[Record]) -> list[str]:
    return sorted(record["order"]["label"][-1] for record in records)


def test_every_order_is_done_once_and_says_where(simulated: Any) -> None:
    with place_on(SECONDS=0.02) as place:
        kept: list[Any] = []
        place.keep_nodes(kept.append)
        records = run(place, many(60))
        assert len(place.states()) == 2
    assert labels(records) == sorted(many(60))
    names = {node.name for node in kept}
    assert len(names) == 2
    assert {name for record in records for name in record["nodes"]} <= names


def test_a_timing_has_a_node_to_itself_and_cpp_is_built_once(simulated: Any) -> None:
    cpp = GroupedStmts("y = 1", "auto y = 1;")
    with place_on(SECONDS=0.01) as place:
        records = run(place, {"add": cpp, **many(4)}, options={}, ladder=False)
    assert not [record for record in records if record["kind"] == "failure"]
    assert len({record["order"]["id"] for record in records}) == 6


def test_an_actor_that_dies_is_started_again_and_its_work_done_elsewhere(simulated: Any, tmp_path: Path) -> None:
    remarks: list[str] = []
    with place_on(remarks, SECONDS=0.01, KILLER="7", FILE=tmp_path / "died") as place:
        records = run(place, many(30))
    assert labels(records) == sorted(many(30))
    assert not [record for record in records if record["kind"] == "failure"]
    assert any("is restarted; its work is done elsewhere" in remark for remark in remarks)


def test_what_is_waited_for_is_said(simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.remote.node_actors.SILENT_SECONDS", 0.0)
    remarks: list[str] = []
    with place_on(remarks) as place:
        names = ", ".join(sorted(place.nodes))
    assert remarks[0] == f"waiting for {names} to be ready, up to 300 s"


def test_the_only_node_does_the_work_of_its_dead_worker_itself(simulated: Any, tmp_path: Path) -> None:
    remarks: list[str] = []
    with place_on(remarks, most_nodes=1, SECONDS=0.01, KILLER="7", FILE=tmp_path / "died") as place:
        records = run(place, many(10))
    assert labels(records) == sorted(many(10))
    assert any("is restarted; its work is done there" in remark for remark in remarks)


def test_a_node_that_is_killed_costs_nothing_else(simulated: Any) -> None:
    extra = simulated.add_node(num_cpus=2)
    remarks: list[str] = []
    with place_on(remarks, SECONDS=0.05) as place:
        assert len(place.nodes) == 3
        killer = threading.Timer(0.5, lambda: simulated.remove_node(extra, allow_graceful=False))
        killer.start()
        records = run(place, many(150))
        killer.join()

        def is_noticed() -> bool:
            place.attend()
            return len(place.nodes) <= 2

        wait_until(is_noticed)
    assert labels(records) == sorted(many(150))
    assert not [record for record in records if record["kind"] == "failure"]
    assert remarks


def test_no_more_nodes_than_asked_for_and_nothing_stays_behind(simulated: Any) -> None:
    with place_on(most_nodes=1, SECONDS=0.01) as place:
        records = run(place, many(5))
        assert len(place.nodes) == 1
    (pid,) = {record["pid"] for record in records}
    wait_until_gone([pid])


def test_another_torch_is_an_error(simulated: Any) -> None:
    place = place_on(most_nodes=1, TORCH="1.0")
    with pytest.raises(WorkerStartError, match=r"a different torch than this machine: version 1\.0 instead of"):
        place.__enter__()


def test_a_late_node_with_another_torch_is_left_out_and_the_others_go_on(simulated: Any, tmp_path: Path) -> None:
    remarks: list[str] = []
    with place_on(remarks, TORCH="1.0", FILE=tmp_path / "late") as place:
        (tmp_path / "late").touch()
        extra = simulated.add_node(num_cpus=2)
        try:

            def is_left_out() -> bool:
                place.attend()
                return any("it is left out" in remark for remark in remarks)

            wait_until(is_left_out)
            assert "a different torch than this machine" in remarks[-1]
            assert len(place.nodes) == 2
            assert labels(run(place, many(5))) == sorted(many(5))
        finally:
            simulated.remove_node(extra)


def test_what_runs_on_an_accelerator_is_measured_where_one_is_declared_one_at_a_time(simulated: Any) -> None:
    extra = simulated.add_node(num_cpus=2, num_gpus=2)
    try:
        with place_on(SECONDS=0.01) as place:
            (name,) = [node.name for node in place.nodes.values() if node.gpus]
            benchmarks = {f"add {number}": ON_DEVICES for number in range(3)}
            records = run(place, benchmarks, ["cuda"], options={}, ladder=False)
    finally:
        simulated.remove_node(extra, allow_graceful=False)
    assert not [record for record in records if record["kind"] == "failure"]
    on_device = [record for record in records if record["kind"] == "device_measurement"]
    assert len({record["order"]["id"] for record in on_device}) == len(on_device) >= 3
    for record in on_device:
        assert record["nodes"] == [name]
        assert record["on_device"] == 1
        assert record["devices"] == "0,1", "Ray gives the node's actor all of its GPUs"
    assert len({node for record in records for node in record["nodes"]}) > 1, "the others count"


@pytest.mark.nightly
def test_an_order_that_ends_every_process_is_given_up(simulated: Any) -> None:
    with place_on(SECONDS=0.01, KILLER="7") as place:
        records = run(place, many(30))
    (failure,) = [record for record in records if record["kind"] == "failure"]
    assert failure["order"]["label"] == ["7"]
    assert failure["type"] == "NodeLost"
    assert failure["step"] == COUNT.name
    assert labels(records) == sorted(many(30))


@pytest.mark.nightly
def test_when_no_node_is_left_the_run_ends_with_what_it_has(simulated: Any) -> None:
    with place_on(most_nodes=1, KILLER="3", RESTARTS=0) as place, pytest.raises(NodesGone, match="no node is left"):
        run(place, many(4))
