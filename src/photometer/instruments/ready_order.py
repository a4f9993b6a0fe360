"""ReadyOrder: a work order with everything that it needs to run, and how a child of a session prepares it.

In: an order of a plan, its scripted model or its library. Out: which server it runs in, the Prepare for a child there,
the folder for its compiler's cache, and its part of a results file. Every instrument that measures orders uses it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.order_name import label_text
from photometer.model.task import Language, TaskSpec
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import WorkOrder
from photometer.session.child_process import ChildProcess
from photometer.session.session import ServerKind, Session, compiling
from photometer.worker.messages import Prepare, Time
from photometer.worker.rank_guests import Invitations

# Compiles what Inductor needs for any function.
_FIRST = 'torch.compile(lambda x: torch.relu(x) + 1)(torch.ones(64, device="{device}"))'
FIRST_SECONDS = 600.0


@dataclasses.dataclass(frozen=True)
class ReadyOrder:
    """An order with everything it needs to run: its scripted model's file, or its library if it is C++."""

    order: WorkOrder
    model_path: str | None = None
    built: BuiltSnippet | None = None
    # Text that uses an accelerator without being timed by it: the host's clock waits for the accelerator's queue.
    waits_for_device: bool = False
    # The numbers of the accelerators that it may see, if other orders use others meanwhile; empty for all.
    visible_devices: tuple[int, ...] = ()
    # Those of its ranks that are on other machines.
    guests: Invitations | None = None

    @property
    def setup(self) -> str:
        return self.order.with_model_path(self.model_path or "").args.setup

    def preparation(self, *, device_time: bool = False) -> Prepare:
        """Return the Prepare for a child. With `device_time` an accelerator times its orders itself."""
        args, auto = self.order.args, self.order.auto
        prepare = Prepare(
            num_threads=args.num_threads,
            device=auto.device if auto.on_device else "",
            visible_devices=self.visible_devices,
            # Ranks wait for each other on the host, which then reads its clock when their devices are done.
            device_time=auto.on_device and device_time and not auto.ranks,
            synchronize=self.waits_for_device or (auto.on_device and (not device_time or auto.ranks > 0)),
            seed=self.order.seed,
            ranks=auto.ranks,
        )
        if self.guests is not None:
            hosts, address, key = self.guests.hosts, self.guests.address, self.guests.key
            prepare = dataclasses.replace(prepare, guests=hosts, guests_address=address, guests_key=key)
        if self.built is not None:
            return dataclasses.replace(prepare, library=str(self.built.library), symbol=self.built.symbol)
        return dataclasses.replace(prepare, stmt=args.stmt, setup=self.setup, preload=self.order.preload)


def task_spec_of(order: WorkOrder) -> TaskSpec:
    """Return the order as `photometer show` places it: a table per first label, rows below it, a column per variant.

    The set-up has the placeholder of a scripted model, not its path: it is the same on every machine.
    """
    auto = order.auto.as_dict()
    words = [str(auto[name]) for name in ("language", "runtime", "autograd")]
    words += [str(auto["device"])] if auto["device"] != "cpu" else []
    words += [f"{name}={value}" for name, value in order.auto.sizes]
    return TaskSpec(
        stmt=order.args.stmt,
        setup=order.args.setup,
        global_setup=order.args.global_setup,
        label=order.label[0] if order.label else None,
        sub_label=label_text(order.label[1:]) or None,
        description=" ".join(words),
        num_threads=order.args.num_threads,
    )


def is_compiled(order: WorkOrder) -> bool:
    return order.auto.runtime is RuntimeMode.COMPILED


def kind_of(order: WorkOrder) -> ServerKind:
    """Return the kind of server for an order: one that has imported its modules, and the compiler if needed."""
    if order.args.language is not Language.PYTHON:
        return ServerKind()
    # What another backend imports is found in the set-up: not Inductor.
    kind = compiling(order.auto.device) if is_compiled(order) and not order.auto.compile.backend else ServerKind()
    return kind.importing(Prepare(order.args.stmt, order.args.setup, preload=order.preload))


def preparation_of(
    session: Session, ready: ReadyOrder, cores: Sequence[int] = (), *, device_time: bool = False
) -> Prepare:
    """Return the Prepare for a child; a compiled order finds there its code of earlier in this session."""
    prepare = ready.preparation(device_time=device_time)
    if not is_compiled(ready.order):
        return prepare
    folder = cache_folder(session, ready.order.id, prepare.device, cores, prepare.visible_devices)
    return dataclasses.replace(prepare, compile_cache=str(folder))


def cache_folder(
    session: Session,
    key: str,
    device: str = "",
    cores: Sequence[int] = (),
    visible_devices: tuple[int, ...] = (),
) -> Path:
    """Return the folder of a benchmark's torch.compile cache."""

    def fill(folder: Path) -> None:
        setup = _FIRST.format(device=device or "cpu")
        with session.child(compiling(device), cores) as child:
            prepare = Prepare("pass", setup, compile_cache=str(folder), device=device, visible_devices=visible_devices)
            child.ask(prepare, FIRST_SECONDS)

    return session.compile_caches.of(key, device, fill)


@contextlib.contextmanager
def prepared_child(
    session: Session, ready: ReadyOrder, cores: Sequence[int] = (), **changes: Any
) -> Iterator[ChildProcess]:
    """Lend a child that has prepared the order, with `changes` to its Prepare."""
    prepare = dataclasses.replace(preparation_of(session, ready, cores), **changes)
    with session.child(kind_of(ready.order), cores) as child:
        child.ask(prepare, ready.order.timeout_seconds)
        yield child


def run_once(
    session: Session,
    ready: ReadyOrder,
    *,
    path: tuple[str, ...] = (),
    folder: str = "",
    cores: Sequence[int] = (),
) -> None:
    """Run an order once in `folder`, for the file that it writes there: a probe's result.

    `path` are folders that it imports from.
    """
    with prepared_child(session, ready, cores, path=path, folder=folder) as child:
        child.ask(Time(1), ready.order.timeout_seconds)
