"""A made-up history in a real store: commits, machines and results, with changes planted at known commits."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from photometer.history.nouns import Commit
from photometer.history.store import Store
from photometer.history.writing import Origin

FIRST_DAY = 1_750_000_000
DAY = 86_400
MACHINES = ("Threadripper 7970X", "Xeon Platinum 8481C")


@dataclasses.dataclass(frozen=True)
class Made:
    """One made-up benchmark. `seconds` and `instructions` are its levels at a commit, by its number."""

    label: tuple[str, ...]
    seconds: Callable[[int], float]
    instructions: Callable[[int], int]
    tags: tuple[str, ...] = ()
    runtime: str = "eager"
    stmt: str = "x + 1"


def sha_of(number: int) -> str:
    return hashlib.sha1(f"commit {number}".encode()).hexdigest()


def commit_of(number: int, subject: str | None = None) -> Commit:
    moment = FIRST_DAY + number * DAY
    parents = (sha_of(number - 1),) if number else ()
    said = f"Change number {number} of the dispatcher" if subject is None else subject
    return Commit(sha_of(number), moment, moment, number + 1, parents, "Ada Example", said)


def stepped(low: float, *steps: tuple[int, float]) -> Callable[[int], float]:
    """Return a level that is multiplied by a factor from some commits on."""

    def at(number: int) -> float:
        value = low
        for place, factor in steps:
            value *= factor if number >= place else 1.0
        return value

    return at


def whole(level: Callable[[int], float]) -> Callable[[int], int]:
    return lambda number: round(level(number))


def some_benchmarks(commits: int = 60) -> list[Made]:
    """Two that changed by their code, one by the machine alone, and one that never did."""
    middle, late = commits // 2, commits * 3 // 4
    return [
        Made(("Add", "two tensors"), stepped(2e-6, (middle, 1.2)), whole(stepped(28_000, (middle, 1.25))), ("small",)),
        Made(("Add", "with a scalar"), stepped(3e-6, (late, 0.9)), whole(stepped(31_000, (late, 0.85))), ("small",)),
        Made(("Linear", "forward"), stepped(9e-6, (middle, 1.1)), whole(stepped(57_000)), ("module",)),
        Made(
            ("Linear", "backward"), stepped(5e-5), whole(stepped(161_000)), ("module",), "torchscript", "y.backward()"
        ),
    ]


def records_at(
    number: int, made: Sequence[Made], generator: random.Random, *, speed: float = 1.0
) -> list[dict[str, Any]]:
    """Return what a run at one commit measured."""
    records: list[dict[str, Any]] = []
    for each in made:
        order = {
            "id": hashlib.sha1("/".join((*each.label, each.runtime)).encode()).hexdigest()[:16],
            "label": list(each.label),
            "auto": {"runtime": each.runtime, "autograd": "forward", "language": "python", "num_threads": 1},
            "tags": list(each.tags),
        }
        task = {"stmt": each.stmt, "setup": "x = torch.ones(4)", "global_setup": "", "num_threads": 1}
        level = each.seconds(number) * speed * generator.gauss(1.0, 0.006)
        times = [level * 100 * (1 + abs(generator.gauss(0.0, 0.01))) for _ in range(20)]
        records.append(
            {"kind": "measurement", "number_per_run": 100, "raw_times": times, "order": order, "task_spec": task}
        )
        count = each.instructions(number)
        functions = [
            [count // 2 * 10, "BinaryOps.cpp:at::add_out(at::Tensor&) [libtorch_cpu.so]"],
            [(count - count // 2) * 10, "call.c:_PyObject_Call [libpython3.11.so]"],
        ]
        repeat = {"total": count * 10 + 500, "outside_allocator": count * 10, "allocator_calls": 20}
        records.append(
            {
                "kind": "instruction_counts",
                "number_per_run": 10,
                "repeats": [repeat] * 3,
                "loop_baseline": {},
                "top_functions": functions,
                "order": order,
                "task_spec": task,
            }
        )
        peak = {"peak_bytes": 4096, "allocated_bytes": 8192, "allocations": 2}
        records.append({"kind": "memory", "repeats": [peak] * 2, "order": order, "task_spec": task})
    return records


def header_of(machine: str, run: str) -> dict[str, Any]:
    return {
        "run": {"suite": "made-up", "id": run, "fingerprint": "f"},
        "machine": {
            "cpu_model": machine,
            "logical_cores": 32,
            "memory_bytes": 64 * 1024**3,
            "python": "3.11.2",
            "torch": {"version": "2.13.0"},
            "date": "2026-01-01T00:00:00+00:00",
        },
    }


def fill_store(
    store: Store,
    made: Sequence[Made],
    commits: int = 60,
    *,
    machines: Sequence[str] = MACHINES[:1],
    subjects: Mapping[int, str] | None = None,
    project: str = "forge.example/torch",
    start: int = 0,
) -> None:
    """Add a run per commit and machine; later machines measure every second commit."""
    for at, machine in enumerate(machines):
        generator = random.Random(at * 1000 + start)
        for number in range(start, commits, 1 if at == 0 else 2):
            origin = Origin(project=project, commit=commit_of(number, (subjects or {}).get(number)), branch="main")
            records = records_at(number, made, generator, speed=1.0 + at)
            store.add_run(header_of(machine, f"{project}-{machine}-{number}"), records, origin)
