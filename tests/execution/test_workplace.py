"""Which accelerators a job gets on a machine with several."""

from __future__ import annotations

import dataclasses

import pytest

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.execution.agenda import Job
from photometer.execution.executor import MeasureOrder
from photometer.execution.steps import Step
from photometer.execution.workplace import DevicePool, Slot
from photometer.instruments.ready_order import ReadyOrder
from photometer.plan import materialize
from tests.session.fake_session import FACTS

FOUR = {f"cuda:{number}": "Fake 9000" if number < 3 else "an older one" for number in range(4)}


def pool(models: dict[str, str]) -> DevicePool:
    return DevicePool(dataclasses.replace(FACTS, device_models=models))


def job(device: str, *ranks: int) -> Job:
    setup = GroupedSetup("x = torch.ones(2, device=device)")
    group = GroupedStmts("y = x + 1", None, setup, devices=(device,), ranks=ranks)
    (order,) = materialize({"add": group}, available_devices=[device, *(f"{device}:{number}" for number in range(4))])
    return Job(Step("device"), order)


def taken(devices: DevicePool, wanted: Job) -> Slot | None:
    return devices.take(wanted, Slot((5,))) if devices.has_room(wanted) else None


def test_each_job_has_one_of_those_that_are_alike() -> None:
    devices, wanted = pool(FOUR), job("cuda")
    slots = [taken(devices, wanted) for _ in range(4)]
    assert [slot and slot.devices for slot in slots] == [(0,), (1,), (2,), None]
    assert devices.most == 3
    assert slots[1] is not None
    assert slots[1].hides_devices
    devices.give_back(wanted, slots[1])
    assert devices.take(wanted, Slot(())).devices == (1,)


def test_an_order_and_what_it_is_measured_against_have_the_same_one() -> None:
    order = job("cuda").order
    assert order is not None
    work = MeasureOrder(ReadyOrder(order), against=(ReadyOrder(order),), step=Step("speedup"))
    given = Slot((5,), devices=(2,), hides_devices=True).give(work)
    assert isinstance(given, MeasureOrder)
    assert [each.visible_devices for each in (given.ready, *given.against)] == [(2,), (2,)]


def test_ranks_have_one_each() -> None:
    devices, wanted = pool(FOUR), job("cuda", 2)
    assert [slot and slot.devices for slot in (taken(devices, wanted), taken(devices, wanted))] == [(0, 1), None]


def test_an_order_that_names_its_device_gets_that_one_and_sees_all() -> None:
    devices, wanted = pool(FOUR), job("cuda:3")
    slot = taken(devices, wanted)
    assert slot == Slot((5,), devices=(3,))
    assert taken(devices, wanted) is None
    assert taken(devices, job("cuda")) is not None


@pytest.mark.parametrize("models", [{}, {"abacus:0": "Abacus", "abacus:1": "Abacus"}])
def test_one_that_is_alone_or_cannot_be_hidden_is_used_by_one_job_at_a_time(models: dict[str, str]) -> None:
    devices, wanted = pool(models), job("abacus")
    slot = taken(devices, wanted)
    assert slot == Slot((5,), devices=(0,))
    assert not devices.has_room(wanted)
    assert devices.has_room(Job(Step("memory")))
    devices.give_back(wanted, Slot((5,), devices=(0,)))
    assert devices.has_room(wanted)
