"""Which benchmarks of a commit a store has already, so that they are not measured again.

In: a store, a commit, orders and the steps to measure. Only results from a machine like this one count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import select

from photometer.history import schema
from photometer.history.connection import guarded
from photometer.history.identity import machine_fingerprint
from photometer.history.store import Store
from photometer.instruments.machine_facts import gather_machine
from photometer.instruments.registry import BY_NAME
from photometer.model.machine import Machine
from photometer.model.records import to_record
from photometer.plan.work_order import WorkOrder


def has_all(
    store: Store,
    sha: str,
    orders: Iterable[WorkOrder],
    steps: Collection[str],
    machines: Collection[Machine] = (),
) -> bool:
    """Whether the store has these steps of every order at a commit, as far as they apply to it.

    They may be from any of the `machines`; if none is given, from one like this.
    """
    found = _kinds_by_benchmark(store, sha, machines or (gather_machine(),))
    for order in orders:
        wanted = {BY_NAME[step].kind for step in steps if BY_NAME[step].applies(order, {})}
        kinds = found.get(order.id, set())
        # A failure ends its benchmark, so it stands for all of them.
        if "failure" not in kinds and not wanted <= kinds:
            return False
    return True


def _kinds_by_benchmark(store: Store, sha: str, machines: Collection[Machine]) -> dict[str, set[str]]:
    known = {machine_fingerprint({"machine": to_record(machine)}).digest for machine in machines}
    results, runs, benchmarks = schema.results, schema.runs, schema.benchmarks
    query = (
        select(benchmarks.c.key, results.c.kind)
        .join_from(results, runs, results.c.run_id == runs.c.id)
        .join(schema.commits, runs.c.commit_id == schema.commits.c.id)
        .join(schema.machines, runs.c.machine_id == schema.machines.c.id)
        .join(benchmarks, results.c.benchmark_id == benchmarks.c.id)
        .where(
            schema.commits.c.sha == sha,
            schema.machines.c.fingerprint.in_(known),
            runs.c.is_dirty.is_(False),
            runs.c.kind == "run",
        )
    )
    found: dict[str, set[str]] = {}
    with guarded(store.engine.url), store.engine.connect() as connection:
        for key, kind in connection.execute(query):
            found.setdefault(key, set()).add(kind)
    return found
