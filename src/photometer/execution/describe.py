"""describe: the facts of the environment that an executor works in, asked once before anything is planned."""

from __future__ import annotations

from typing import Any

from photometer.errors import WorkerStartError
from photometer.execution.executor import Executor


def describe(executor: Executor) -> dict[str, Any]:
    answer = executor.execute({"do": "describe"})
    if not answer["ok"]:
        error = answer["error"]
        raise WorkerStartError(error["message"], log=error["log"], remedy=error["remedy"])
    facts: dict[str, Any] = answer["facts"]
    return facts
