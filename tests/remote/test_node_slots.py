"""Which job may run on which node."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, TimerArgs
from photometer.errors import NodesGone
from photometer.execution.agenda import Job
from photometer.execution.steps import COUNT, TIME, Step
from photometer.model.machine import Machine, Node
from photometer.plan import materialize
from photometer.remote.node_slots import AHEAD, NodeSlots
from tests.execution.fake_executor import FACTS
from tests.execution.test_scheduler import ON_DEVICES

ORDER = materialize({"add": TimerArgs("pass")})[0]


def job(step: Step = COUNT, cores: int = 1, order: Any = ORDER) -> Job:
    return Job(step, order, cores=cores)


def slots(ranks_per_node: int | None = None, **nodes: Any) -> NodeSlots:
    """Nodes by name: a number of cores, or a Node."""
    made = NodeSlots(ranks_per_node)
    for name, node in nodes.items():
        node = node if isinstance(node, Node) else Node(name, Machine(cpu_model="A"), node)
        models = {f"cuda:{number}": "Fake 9000" for number in range(node.gpus)} if node.gpus > 1 else {}
        made.add(node, tuple(range(node.cores)), dataclasses.replace(FACTS, device_models=models))
    return made


def test_a_count_takes_one_core_and_one_more_waits_on_each_node() -> None:
    places = slots(a=2, b=2)
    taken = [places.take(job()) for _ in range(7)]
    assert sorted(slot.node for slot in taken if slot) == ["a"] * (2 + AHEAD) + ["b"] * (2 + AHEAD)
    assert {slot.cores for slot in taken if slot} == {()}, "the node chooses"
    assert taken[-1] is None


def test_other_loud_work_takes_a_core_each() -> None:
    places = slots(a=2)
    taken = [places.take(job(Step("memory"))) for _ in range(3)]
    assert [slot.cores for slot in taken if slot] == [(0,), (1,)]


def test_a_timing_takes_a_whole_node_and_its_highest_cores() -> None:
    places = slots(a=4)
    timing = job(TIME, cores=2)
    slot = places.take(timing)
    assert slot is not None
    assert slot.cores == (2, 3)
    assert places.take(job()) is None
    assert places.take(job(TIME)) is None
    places.give_back(timing, slot)
    assert places.take(job()) is not None


def test_a_timing_waits_for_a_node_to_be_idle_and_nothing_new_starts_there() -> None:
    places = slots(a=2)
    count = job()
    slot = places.take(count)
    assert slot is not None
    assert places.take(job(TIME)) is None
    assert places.take(job()) is None, "the node is being emptied"
    places.give_back(count, slot)
    assert places.take(job(TIME)) is not None


def test_only_one_node_is_emptied_for_a_timing() -> None:
    places = slots(a=2, b=2)
    assert {slot.node for slot in (places.take(job()), places.take(job())) if slot} == {"a", "b"}
    assert places.take(job(TIME)) is None
    going_on = [places.take(job()) for _ in range(1 + AHEAD)]
    assert all(going_on), "the other node goes on"
    assert places.take(job()) is None


def test_a_shared_node_gives_a_timing_as_many_cores_as_it_has_threads() -> None:
    places = slots(a=Node("a", Machine(cpu_model="A"), 4, is_shared=True))
    slot = places.take(job(TIME, cores=2))
    assert slot is not None
    assert len(slot.cores) == 2
    assert places.take(job()) is not None
    assert places.take(job(TIME)) is None, "times of one machine do not disturb each other"


def test_what_runs_on_a_device_goes_to_a_node_that_has_one() -> None:
    order = materialize({"add": ON_DEVICES}, available_devices=["cuda"])[-1]
    assert order.auto.on_device
    places = slots(a=4, b=Node("b", Machine(cpu_model="A"), 4, gpus=1))
    slot = places.take(job(Step("device"), order=order))
    assert slot is not None
    assert slot.node == "b"
    assert places.take(job(Step("device"), order=order)) is None


def test_a_node_times_on_all_of_its_accelerators_at_once_and_on_nothing_else() -> None:
    cpu, *_, device = materialize({"add": ON_DEVICES}, available_devices=["cpu", "cuda"])
    timing = job(Step("device"), order=device)
    places = slots(b=Node("b", Machine(cpu_model="A"), 32, gpus=3))
    assert places.quiet_lanes == 3
    taken = [places.take(timing) for _ in range(4)]
    assert [slot and slot.devices for slot in taken] == [(0,), (1,), (2,), None]
    assert [slot and slot.cores for slot in taken[:3]] == [(31,), (30,), (29,)]
    assert places.take(job(TIME, order=cpu)) is None
    assert places.take(job(Step("memory"), order=cpu)) is None
    assert taken[1] is not None
    places.give_back(timing, taken[1])
    again = places.take(timing)
    assert again is not None
    assert again.devices == (1,)


def test_times_on_the_host_leave_no_accelerator_to_others() -> None:
    cpu, *_, device = materialize({"add": ON_DEVICES}, available_devices=["cpu", "cuda"])
    places = slots(b=Node("b", Machine(cpu_model="A"), 32, gpus=3))
    assert places.take(job(TIME, order=cpu)) is not None
    assert places.take(job(Step("device"), order=device)) is None


def group_of(ranks: int, device: str = "cpu") -> Any:
    setup = GroupedSetup("x = torch.ones(2, device=device)")
    group = GroupedStmts("torch.distributed.all_reduce(x)", None, setup, devices=(device,), ranks=ranks)
    (order,) = materialize(
        {"add": group}, available_devices=[device, *(f"{device}:{number}" for number in range(ranks))]
    )
    return order


def test_a_group_that_is_spread_takes_idle_nodes_and_gives_them_back() -> None:
    places = slots(a=4, b=4, c=4, ranks_per_node=2)
    timing = job(TIME, cores=5, order=group_of(5))
    count = job()
    held = places.take(count)
    assert held is not None
    assert places.take(timing) is None
    # Nothing new starts on the three.
    assert places.take(count) is None
    places.give_back(count, held)
    slot = places.take(timing)
    assert slot is not None
    assert sorted(slot.nodes) == ["a", "b", "c"]
    assert places.parts(timing.order) == [2, 2, 1]
    assert [len(each.cores) for each in (slot, *slot.beside)] == [2, 2, 1]
    assert places.take(count) is None
    places.give_back(timing, slot)
    assert places.take(timing) is not None


def test_each_part_of_a_group_has_its_accelerators() -> None:
    nodes = {name: Node(name, Machine(cpu_model="A"), 8, gpus=2) for name in "ab"}
    slot = slots(ranks_per_node=2, **nodes).take(job(TIME, cores=4, order=group_of(4, "cuda")))
    assert slot is not None
    assert [each.devices for each in (slot, *slot.beside)] == [(0, 1), (0, 1)]


def test_a_group_that_fits_one_node_is_on_one() -> None:
    slot = slots(a=4, b=4, ranks_per_node=2).take(job(TIME, cores=2, order=group_of(2)))
    assert slot is not None
    assert slot.beside == ()


def test_a_group_for_more_nodes_than_there_are_is_refused_before_and_while_it_runs() -> None:
    places = slots(a=4, b=Node("b", Machine(cpu_model="A"), 4, is_shared=True), ranks_per_node=1)
    with pytest.raises(NodesGone, match="2 ranks, 1 per node, need 2 nodes that time and are not shared; there are 1"):
        places.check_room([group_of(2)])
    with pytest.raises(NodesGone, match="there are 1"):
        places.take(job(TIME, cores=2, order=group_of(2)))
    places.check_room([group_of(1), ORDER])


def test_times_come_from_machines_of_one_type() -> None:
    other = Node("c", Machine(cpu_model="B"), 8)
    places = slots(a=2, b=2, c=other)
    timings = [places.take(job(TIME)) for _ in range(3)]
    assert {slot.node for slot in timings if slot} == {"a", "b"}
    assert timings[2] is None
    count = places.take(job())
    assert count is not None
    assert count.node == "c"
    assert places.timing_type == Node("a", Machine(cpu_model="A"), 2).type


def test_counts_go_where_a_server_counts_already() -> None:
    places = slots(a=2, b=2)
    first = job()
    slot = places.take(first)
    assert slot is not None
    places.give_back(first, slot)
    again = places.take(job())
    assert again is not None
    assert again.node == slot.node


def test_what_a_lost_node_gives_back_is_not_taken() -> None:
    places = slots(a=2, b=2)
    count = job()
    slot = places.take(count)
    assert slot is not None
    places.remove(slot.node)
    places.give_back(count, slot)
    assert slot.node not in places
    assert len(places) == 1
    taken = places.take(job())
    assert taken is not None
    assert taken.node != slot.node


@pytest.mark.parametrize("running", [0, 1, 3])
def test_states_say_what_each_node_does(running: int) -> None:
    places = slots(a=4)
    for _ in range(running):
        places.take(job())
    (state,) = places.states()
    assert state.name == "a"
    assert len(state.now) == min(running, 3)
    assert ("1 more" in state.now) is (running == 3)


def counting(name: str, capability: str = "avx2", valgrind: str = "3.19.0", c_library: str = "glibc 2.36") -> Node:
    as_ = (f"ATEN_CPU_CAPABILITY={capability}",) if capability else ()
    return Node(name, Machine(cpu_model="A"), 1, counting_as=as_, c_library=c_library, valgrind=valgrind)


@pytest.mark.parametrize("other", [{"capability": ""}, {"valgrind": "3.25.1"}, {"c_library": "glibc 2.31"}])
def test_counts_come_from_nodes_that_count_alike(other: dict[str, str]) -> None:
    places = slots(a=counting("a"), b=counting("b"), c=counting("c", **other))
    taken = [places.take(job()) for _ in range(10)]
    assert {slot.node for slot in taken if slot} == {"a", "b"}
    memory = places.take(job(Step("memory")))
    assert memory is not None
    assert memory.node == "c", "it does everything else"


def test_nodes_without_valgrind_do_not_count_even_if_most_have_none() -> None:
    places = slots(a=counting("a", valgrind=""), b=counting("b", valgrind=""), c=counting("c"))
    taken = [places.take(job()) for _ in range(5)]
    assert {slot.node for slot in taken if slot} == {"c"}
    assert places.counting_type == "avx2, glibc 2.36, Valgrind 3.19.0"


def test_which_nodes_count_does_not_depend_on_who_came_first() -> None:
    one, other = counting("a"), counting("b", capability="")
    assert slots(a=one, b=other).counting_type == slots(b=other, a=one).counting_type
