"""The memory of one work order, measured in a child of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from photometer.execution.compile_order import kind_of, preparation_of
from photometer.execution.executor import ReadyOrder
from photometer.execution.order_record import task_spec_of
from photometer.instruments.memory import memory_in_child
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.records import to_record
from photometer.session.session import Session


def take_memory(session: Session, ready: ReadyOrder, cores: Sequence[int] = ()) -> MemoryMeasurement:
    order = ready.order
    prepare = preparation_of(session, ready, cores)
    with session.child(kind_of(order), cores) as child:
        return memory_in_child(child, prepare, task_spec_of(order), timeout_seconds=order.timeout_seconds)


def memory_order(session: Session, ready: ReadyOrder, cores: Sequence[int] = ()) -> dict[str, Any]:
    return to_record(take_memory(session, ready, cores))
