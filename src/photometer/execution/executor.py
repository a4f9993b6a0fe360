"""Executor: the seam between a run and whatever does its work. One method, and frozen dataclasses that cross it.

Describe        -> facts of the environment: torch, devices, interpreter
ScriptModel     -> nothing; the file is there
BuildSnippets   -> outcomes: a BuiltSnippet, or the Failure of that snippet alone
MeasureOrder    -> record: what a results file keeps of one step of one order; a probe leaves a file instead
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

from photometer.errors import BenchmarkSkipped, PhotometerError, WorkerCrashed, WorkerStartError, WorkerTimeout
from photometer.execution.steps import Step
from photometer.instruments.cpp.snippet import BuiltSnippet, CppSnippet
from photometer.instruments.declaration import Asked
from photometer.worker.messages import TorchFacts

# The end of a log explains the failure; a flood of output does not belong into a results file.
LOG_KEPT_CHARACTERS = 4000


@dataclasses.dataclass(frozen=True)
class Describe:
    cores: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class ScriptModel:
    """Run the module `source`, which makes `jit_model`, and save that to `path`."""

    source: str
    path: str
    timeout_seconds: float
    cores: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class BuildSnippets:
    snippets: tuple[CppSnippet, ...]
    torch_folder: str
    include_paths: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()
    # Whether the counts' server starts meanwhile: compilers do not use all cores all the time.
    counts_follow: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeasureOrder(Asked):
    """One measuring step of one order. A probe runs in `folder` and imports from `path`."""

    step: Step
    path: tuple[str, ...] = ()
    folder: str = ""


Work = Describe | ScriptModel | BuildSnippets | MeasureOrder


@dataclasses.dataclass(frozen=True)
class Failure:
    """An error as a frozen value.

    `may_pass`: a crash or a time-out may be the machine's fault, so try again. `lost`: the node, or the process on it
    that does the work, is gone; that says nothing about the order. `skipped`: the benchmark says itself that it does
    not apply here; `message` is its reason.
    """

    type: str
    message: str
    log: str = ""
    remedy: str = ""
    exit_status: int | None = None
    may_pass: bool = False
    lost: bool = False
    skipped: bool = False

    @classmethod
    def of(cls, error: PhotometerError) -> Failure:
        log = error.log or ""
        return cls(
            type=type(error).__name__,
            message=error.message,
            log=log if len(log) <= LOG_KEPT_CHARACTERS else "…" + log[-LOG_KEPT_CHARACTERS:],
            remedy=error.remedy or "",
            exit_status=error.exit_status,
            may_pass=isinstance(error, WorkerCrashed | WorkerTimeout),
            skipped=isinstance(error, BenchmarkSkipped),
        )


@dataclasses.dataclass(frozen=True)
class Done:
    """The outcome of a piece of work; which field is filled in depends on the work."""

    record: Mapping[str, Any] | None = None
    facts: TorchFacts | None = None
    outcomes: tuple[BuiltSnippet | Failure, ...] = ()


class Executor(Protocol):
    """Does one piece of work at a time for each calling thread. The user's mistakes are Failures, not exceptions."""

    def execute(self, work: Work) -> Done | Failure: ...


def describe(executor: Executor) -> TorchFacts:
    """Return the facts of the environment that an executor works in, which planning needs first."""
    outcome = executor.execute(Describe())
    if isinstance(outcome, Failure):
        raise WorkerStartError(outcome.message, log=outcome.log, remedy=outcome.remedy)
    assert outcome.facts is not None
    return outcome.facts
