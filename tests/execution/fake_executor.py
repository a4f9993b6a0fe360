"""An executor that runs nothing: it answers as told, and writes down what was under way at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

FACTS = {
    "torch": "9.9",
    "torch_folder": "/nowhere/torch",
    "executable": "/nowhere/python",
    "python": "3.11",
    "git_version": "abc",
    "debug": False,
    "cuda": None,
    "build": "",
    "devices": ["cpu"],
}
SPEC = {"stmt": "pass", "setup": "pass"}


def error(message: str = "it broke", *, may_pass: bool = False) -> dict[str, Any]:
    return {"ok": False, "error": {"type": "E", "message": message, "log": "", "remedy": "", "may_pass": may_pass}}


class FakeExecutor:
    """`decide(request)` may give another answer than success. Each request takes `seconds`."""

    def __init__(self, decide: Callable[[dict[str, Any]], Any] | None = None, seconds: float = 0.0) -> None:
        self._decide = decide
        self._seconds = seconds
        self._lock = threading.Lock()
        self._busy: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.together: list[tuple[tuple[str, tuple[int, ...]], ...]] = []

    def execute(self, request: Any) -> dict[str, Any]:
        with self._lock:
            self.requests.append(request)
            self._busy.append(request)
            self.together.append(tuple((r["do"], tuple(r["cpus"])) for r in self._busy if "cpus" in r))
        time.sleep(self._seconds)
        try:
            answer = self._decide(request) if self._decide is not None else None
            return answer if answer is not None else self._success(request)
        finally:
            with self._lock:
                self._busy.remove(request)

    def _success(self, request: Any) -> dict[str, Any]:
        if request["do"] == "describe":
            return {"ok": True, "facts": FACTS}
        if request["do"] == "build":
            return {"ok": True, "outcomes": [{"library": "/l.so", "symbol": "s"} for _ in request["snippets"]]}
        if request["do"] == "time":
            record = {"kind": "measurement", "task_spec": SPEC, "number_per_run": 1, "raw_times": [1e-6] * 5}
            return {"ok": True, "record": record}
        if request["do"] == "count":
            figures = {"total": 100, "outside_allocator": 90, "allocator_calls": 1}
            record = {"kind": "instruction_counts", "task_spec": SPEC, "number_per_run": 1, "repeats": [figures]}
            return {"ok": True, "record": {**record, "frozen_layout": True}}
        if request["do"] == "device":
            record = {"kind": "device_measurement", "task_spec": SPEC, "device_name": "Fake", "device_kind": "cuda"}
            return {"ok": True, "record": {**record, "modes": [], "bound": ""}}
        return {"ok": True}

    def done(self, step: str) -> list[str]:
        """The labels of the orders of one kind of request, as they came."""
        return [r["order"]["label"][-1] for r in self.requests if r["do"] == step]
