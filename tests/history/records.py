"""Made-up headers and records of results files, as `run` and `compare` write them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from photometer.history.nouns import Commit
from photometer.history.writing import Origin

DAY = 86_400
START = 1_700_000_000


def header(
    run_id: str = "run-1", *, cpu: str = "Quick 9000", torch: str = "2.13.0", suite: str = "toy"
) -> dict[str, Any]:
    return {
        "format": "photometer-results",
        "version": 1,
        "machine": {
            "cpu_model": cpu,
            "logical_cores": 8,
            "memory_bytes": 16 * 2**30,
            "python": "3.11.2 (CPython)",
            "torch": {"version": torch},
            "date": "2026-01-02T03:04:05+00:00",
        },
        "run": {"id": run_id, "suite": suite, "fingerprint": "f" * 16},
    }


def comparison_header(base: str, branch: str, run_id: str = "cmp-1") -> dict[str, Any]:
    about = {
        "id": run_id,
        "base": {"spec": f"git:{base}", "commit": base, "tree": None},
        "branch": {"spec": f"git:{branch}", "commit": branch, "tree": None},
        "suite": "toy",
        "fingerprint": "f" * 16,
    }
    return {**{name: value for name, value in header().items() if name != "run"}, "comparison": about}


def order(name: str) -> dict[str, Any]:
    auto = {"runtime": "explicit", "autograd": "explicit", "language": "python", "num_threads": 1, "device": "cpu"}
    return {"id": f"id-{name}", "label": ["toy", name], "auto": {**auto, "sizes": []}}


def task(name: str) -> dict[str, Any]:
    return {"stmt": f"toy.{name}()", "setup": "import toy", "label": "toy", "sub_label": name}


def counts(
    name: str, instructions: Sequence[int] | int, functions: dict[str, int] | None = None, *, number: int = 100
) -> dict[str, Any]:
    """Counts of all runs together outside the allocator; the totals are 10 higher."""
    repeats = [instructions] if isinstance(instructions, int) else list(instructions)
    listed = functions or {"toy.c:work [/lib/toy.so]": repeats[0]}
    return {
        "kind": "instruction_counts",
        "task_spec": task(name),
        "number_per_run": number,
        "repeats": [
            {"total": count + 10, "outside_allocator": count, "allocator_calls": 2 * number} for count in repeats
        ],
        "top_functions": [[count, function] for function, count in listed.items()],
        "frozen_layout": True,
        "order": order(name),
    }


def times(name: str, seconds: float, *, seed: int = 0, samples: int = 40) -> dict[str, Any]:
    """A measurement around `seconds` per run, with noise of one part in a thousand."""
    noise = random.Random(f"{ascii(name)[1:-1]} {seconds} {seed}")
    return {
        "kind": "measurement",
        "number_per_run": 1000,
        "raw_times": [1000 * seconds * (1 + abs(noise.gauss(0, 0.001))) for _ in range(samples)],
        "task_spec": task(name),
        "order": order(name),
    }


def failure(name: str) -> dict[str, Any]:
    return {
        "kind": "failure",
        "step": "time",
        "attempts": 1,
        "message": "it broke",
        "task_spec": task(name),
        "order": order(name),
    }


def comparison(name: str, verdict: str, ratio: float = 1.1) -> dict[str, Any]:
    return {
        "kind": "comparison",
        "order_id": f"id-{name}",
        "title": f"toy › {name}",
        "verdict": {"verdict": verdict, "ratio": ratio, "interval": [ratio - 0.01, ratio + 0.01]},
        "cause": "more instructions",
        "task_spec": task(name),
        "order": order(name),
    }


def sha(number: int) -> str:
    return f"{number:040x}"


def commit(number: int) -> Commit:
    """The commits of a line, a day apart; number 0 is the first."""
    when = START + number * DAY
    parents = () if number == 0 else (sha(number - 1),)
    return Commit(sha(number), when, when, number + 1, parents, "Ada", f"commit {number}")


def origin(number: int, *, project: str = "toys", dirty: bool = False) -> Origin:
    return Origin(project, commit(number), branch="main", is_dirty=dirty, source="results.json")
