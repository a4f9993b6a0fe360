"""photometer measures PyTorch code: how fast, which is faster, did my branch make it slower, by how much, and why.

    definition, fuzzing   what an author writes or samples
      -> plan             what will run
      -> execution        runs it: instruments on the near side, worker on the far side of the process line
      -> results file     every measurement, the moment it exists
      -> comparison       statistics to tables and verdicts
      -> report           to the terminal, Markdown, HTML
    The short cut for one statement: Timer -> Measurement -> Compare.

The names below are public, and so are those of MODULES. Each is imported when first used: `photometer --help` needs no
torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what a type checker and an editor see; a test holds it to the table below
    from photometer.analysis.comparison_result import EnvironmentComparison as EnvironmentComparison
    from photometer.analysis.ranking import Ranking as Ranking
    from photometer.analysis.table import ordered_unique as ordered_unique
    from photometer.analysis.verdict import Verdict as Verdict
    from photometer.comparing.environments import compare as compare
    from photometer.comparing.request import ComparisonSettings as ComparisonSettings
    from photometer.comparing.statements import ab as ab
    from photometer.definition import (
        GroupedModules as GroupedModules,
        GroupedSetup as GroupedSetup,
        GroupedStmts as GroupedStmts,
        GroupedVariants as GroupedVariants,
        TimerArgs as TimerArgs,
        TrainingStep as TrainingStep,
        powers as powers,
        sweep as sweep,
    )
    from photometer.errors import PhotometerError as PhotometerError
    from photometer.execution.run_settings import RunSettings as RunSettings
    from photometer.fuzz_maps import fuzz as fuzz
    from photometer.fuzzing import (
        FuzzedParameter as FuzzedParameter,
        FuzzedSparseTensor as FuzzedSparseTensor,
        FuzzedTensor as FuzzedTensor,
        Fuzzer as Fuzzer,
        ParameterAlias as ParameterAlias,
    )
    from photometer.instruments.clock import timer as timer
    from photometer.model.copy_if_callgrind import CopyIfCallgrind as CopyIfCallgrind
    from photometer.model.instruction_counts import (
        CallgrindStats as CallgrindStats,
        FunctionCount as FunctionCount,
        FunctionCounts as FunctionCounts,
        InstructionCounts as InstructionCounts,
    )
    from photometer.model.machine import Environment as Environment
    from photometer.model.measurement import Measurement as Measurement
    from photometer.model.memory_measurement import MemoryMeasurement as MemoryMeasurement
    from photometer.model.run_figures import RankTimes as RankTimes
    from photometer.model.task import Language as Language, TaskSpec as TaskSpec
    from photometer.model.units import (
        select_unit as select_unit,
        trim_sigfig as trim_sigfig,
        unit_to_english as unit_to_english,
    )
    from photometer.pipeline import RunReport as RunReport, check as check, run as run
    from photometer.results import load as load, make_report as make_report, save as save
    from photometer.tables import Colorize as Colorize, Compare as Compare
    from photometer.timing import Timer as Timer
    from photometer.worker.threads import set_torch_threads as set_torch_threads

__version__ = "1.0.0"

_HOME = {
    "CallgrindStats": "photometer.model.instruction_counts",
    "Colorize": "photometer.tables",
    "Compare": "photometer.tables",
    "ComparisonSettings": "photometer.comparing.request",
    "CopyIfCallgrind": "photometer.model.copy_if_callgrind",
    "Environment": "photometer.model.machine",
    "EnvironmentComparison": "photometer.analysis.comparison_result",
    "FunctionCount": "photometer.model.instruction_counts",
    "FunctionCounts": "photometer.model.instruction_counts",
    "FuzzedParameter": "photometer.fuzzing",
    "FuzzedSparseTensor": "photometer.fuzzing",
    "FuzzedTensor": "photometer.fuzzing",
    "Fuzzer": "photometer.fuzzing",
    "GroupedModules": "photometer.definition",
    "GroupedSetup": "photometer.definition",
    "GroupedStmts": "photometer.definition",
    "GroupedVariants": "photometer.definition",
    "InstructionCounts": "photometer.model.instruction_counts",
    "Language": "photometer.model.task",
    "Measurement": "photometer.model.measurement",
    "MemoryMeasurement": "photometer.model.memory_measurement",
    "ParameterAlias": "photometer.fuzzing",
    "PhotometerError": "photometer.errors",
    "RankTimes": "photometer.model.run_figures",
    "Ranking": "photometer.analysis.ranking",
    "RunReport": "photometer.pipeline",
    "RunSettings": "photometer.execution.run_settings",
    "TaskSpec": "photometer.model.task",
    "Timer": "photometer.timing",
    "TimerArgs": "photometer.definition",
    "TrainingStep": "photometer.definition",
    "Verdict": "photometer.analysis.verdict",
    "ab": "photometer.comparing.statements",
    "check": "photometer.pipeline",
    "compare": "photometer.comparing.environments",
    "fuzz": "photometer.fuzz_maps",
    "load": "photometer.results",
    "make_report": "photometer.results",
    "ordered_unique": "photometer.analysis.table",
    "powers": "photometer.definition",
    "run": "photometer.pipeline",
    "save": "photometer.results",
    "select_unit": "photometer.model.units",
    "set_torch_threads": "photometer.worker.threads",
    "sweep": "photometer.definition",
    "timer": "photometer.instruments.clock",
    "trim_sigfig": "photometer.model.units",
    "unit_to_english": "photometer.model.units",
}

# What else is public is in these; `testing` is a module as `triton.testing` is.
MODULES = ("callgrind", "cpp", "device", "errors", "fuzzers", "history", "results", "suites", "testing")

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return importlib.import_module(f"photometer.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'photometer' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """Make `%photometer` known to a notebook: `%load_ext photometer`."""
    from photometer.magics import load_ipython_extension as load_magics

    load_magics(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
