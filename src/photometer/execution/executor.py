"""Executor: the seam between a run and whatever does its work. One method, and frozen dataclasses that cross it.

Describe        -> facts of the environment: torch, devices, interpreter
ScriptModel     -> nothing; the file is there
BuildSnippets   -> outcomes: a BuiltSnippet, or the Failure of that snippet alone
MeasureOrder    -> record: what a results file keeps of one step of one order; a probe leaves a file instead
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, Protocol

from photometer.errors import PhotometerError, WorkerCrashed, WorkerStartError, WorkerTimeout
from photometer.instruments.cpp.snippet import BuiltSnippet, CppSnippet
from photometer.plan.work_order import WorkOrder
from photometer.worker.messages import Prepare, TorchFacts

# The end of a log explains the failure; a flood of output does not belong into a results file.
LOG_KEPT_CHARACTERS = 4000


class Step(enum.Enum):
    """What is done for a plan, or for one order of it."""

    SCRIPT = "script"
    BUILD = "build"
    TIME = "time"
    COUNT = "count"
    DEVICE = "device"
    MEMORY = "memory"
    COMPILE = "compile"
    PROBE = "probe"


@dataclasses.dataclass(frozen=True)
class ReadyOrder:
    """An order with all that it needs to run: its scripted model's file, or its library if it is C++."""

    order: WorkOrder
    model_path: str | None = None
    built: BuiltSnippet | None = None

    @property
    def setup(self) -> str:
        return self.order.with_model_path(self.model_path or "").args.setup

    def preparation(self, *, device_time: bool = False) -> Prepare:
        """Return what a child prepares. With `device_time` an accelerator times its orders itself."""
        args, auto = self.order.args, self.order.auto
        prepare = Prepare(
            num_threads=args.num_threads,
            device=auto.device if auto.on_device else "",
            device_time=auto.on_device and device_time,
            synchronize=auto.on_device and not device_time,
        )
        if self.built is not None:
            return dataclasses.replace(prepare, library=str(self.built.library), symbol=self.built.symbol)
        return dataclasses.replace(prepare, stmt=args.stmt, setup=self.setup)


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


@dataclasses.dataclass(frozen=True)
class MeasureOrder:
    """One measuring step of one order. A probe runs in `folder` and imports from `path`.

    A timing is one visit of several (rounds.py): `min_run_time` is its share, `layout_seed` its memory layout, and
    `runs_per_block` what the first visit has chosen, or 0 to choose it.
    """

    step: Step
    ready: ReadyOrder
    min_run_time: float
    repeats: int
    path: tuple[str, ...] = ()
    folder: str = ""
    cores: tuple[int, ...] = ()
    layout_seed: int = 0
    runs_per_block: int = 0


Work = Describe | ScriptModel | BuildSnippets | MeasureOrder


@dataclasses.dataclass(frozen=True)
class Failure:
    """An error as it crosses the seam. `may_pass`: a crash or a time-out may be the machine's doing, so try again.

    `lost`: the node is gone, or the process on it that does the work; that says nothing about the order.
    """

    type: str
    message: str
    log: str = ""
    remedy: str = ""
    exit_status: int | None = None
    may_pass: bool = False
    lost: bool = False

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
        )


@dataclasses.dataclass(frozen=True)
class Done:
    """What came of a piece of work; which field is filled in depends on the work."""

    record: Mapping[str, Any] | None = None
    facts: TorchFacts | None = None
    outcomes: tuple[BuiltSnippet | Failure, ...] = ()


class Executor(Protocol):
    """Does one piece of work at a time for each thread that asks. The user's mistakes are Failures, not exceptions."""

    def execute(self, work: Work) -> Done | Failure: ...


def describe(executor: Executor) -> TorchFacts:
    """Return the facts of the environment that an executor works in, asked before anything is planned."""
    outcome = executor.execute(Describe())
    if isinstance(outcome, Failure):
        raise WorkerStartError(outcome.message, log=outcome.log, remedy=outcome.remedy)
    assert outcome.facts is not None
    return outcome.facts
