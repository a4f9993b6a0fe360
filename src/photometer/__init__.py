"""photometer measures PyTorch code: how fast, which is faster, did my branch make it slower, by how much, and why.

    definition, fuzzing   what an author writes or samples
      -> plan             what will run
      -> execution        runs it: instruments on the near side, worker on the far side of the process line
      -> results file     every measurement, the moment it exists
      -> comparison       statistics to tables and verdicts
      -> report           to the terminal, Markdown, HTML
    The short cut for one statement: Timer -> Measurement -> Compare.

The names below are the public ones. Each is imported when first used, so that `photometer --help` needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what a type checker and an editor see; a test holds it to the table below
    from photometer.analysis.comparison_result import EnvironmentComparison as EnvironmentComparison
    from photometer.analysis.ranking import Ranking as Ranking
    from photometer.analysis.table import ordered_unique as ordered_unique
    from photometer.analysis.verdict import Verdict as Verdict
    from photometer.comparing.environments import compare_environments as compare_environments
    from photometer.comparing.statements import ab as ab, ab_device as ab_device
    from photometer.definition import (
        GroupedModules as GroupedModules,
        GroupedSetup as GroupedSetup,
        GroupedStmts as GroupedStmts,
        GroupedVariants as GroupedVariants,
        TimerArgs as TimerArgs,
        TrainingStep as TrainingStep,
        load_suite as load_suite,
        powers as powers,
        sweep as sweep,
    )
    from photometer.errors import DefinitionError as DefinitionError, PhotometerError as PhotometerError
    from photometer.fuzzing import (
        FuzzedParameter as FuzzedParameter,
        FuzzedSparseTensor as FuzzedSparseTensor,
        FuzzedTensor as FuzzedTensor,
        Fuzzer as Fuzzer,
        ParameterAlias as ParameterAlias,
    )
    from photometer.instruments.clock import timer as timer
    from photometer.model.callgrind_stats import CallgrindStats as CallgrindStats
    from photometer.model.copy_if_callgrind import CopyIfCallgrind as CopyIfCallgrind
    from photometer.model.device_measurement import DeviceMeasurement as DeviceMeasurement
    from photometer.model.environment import Environment as Environment
    from photometer.model.function_counts import FunctionCount as FunctionCount, FunctionCounts as FunctionCounts
    from photometer.model.instruction_counts import InstructionCounts as InstructionCounts
    from photometer.model.language import Language as Language
    from photometer.model.measurement import Measurement as Measurement
    from photometer.model.task import TaskSpec as TaskSpec
    from photometer.model.units import (
        select_unit as select_unit,
        trim_sigfig as trim_sigfig,
        unit_to_english as unit_to_english,
    )
    from photometer.plan import materialize as materialize
    from photometer.results import load as load, save as save
    from photometer.tables import Colorize as Colorize, Compare as Compare
    from photometer.timing import Timer as Timer
    from photometer.worker.threads import set_torch_threads as set_torch_threads

__version__ = "0.1.0"

_HOME = {
    "CallgrindStats": "photometer.model.callgrind_stats",
    "Colorize": "photometer.tables",
    "Compare": "photometer.tables",
    "CopyIfCallgrind": "photometer.model.copy_if_callgrind",
    "DefinitionError": "photometer.errors",
    "DeviceMeasurement": "photometer.model.device_measurement",
    "Environment": "photometer.model.environment",
    "EnvironmentComparison": "photometer.analysis.comparison_result",
    "FunctionCount": "photometer.model.function_counts",
    "FunctionCounts": "photometer.model.function_counts",
    "FuzzedParameter": "photometer.fuzzing",
    "FuzzedSparseTensor": "photometer.fuzzing",
    "FuzzedTensor": "photometer.fuzzing",
    "Fuzzer": "photometer.fuzzing",
    "GroupedModules": "photometer.definition",
    "GroupedSetup": "photometer.definition",
    "GroupedStmts": "photometer.definition",
    "GroupedVariants": "photometer.definition",
    "InstructionCounts": "photometer.model.instruction_counts",
    "Language": "photometer.model.language",
    "Measurement": "photometer.model.measurement",
    "ParameterAlias": "photometer.fuzzing",
    "PhotometerError": "photometer.errors",
    "Ranking": "photometer.analysis.ranking",
    "TaskSpec": "photometer.model.task",
    "Timer": "photometer.timing",
    "TimerArgs": "photometer.definition",
    "TrainingStep": "photometer.definition",
    "Verdict": "photometer.analysis.verdict",
    "ab": "photometer.comparing.statements",
    "ab_device": "photometer.comparing.statements",
    "compare_environments": "photometer.comparing.environments",
    "load": "photometer.results",
    "load_suite": "photometer.definition",
    "materialize": "photometer.plan",
    "ordered_unique": "photometer.analysis.table",
    "powers": "photometer.definition",
    "save": "photometer.results",
    "select_unit": "photometer.model.units",
    "set_torch_threads": "photometer.worker.threads",
    "sweep": "photometer.definition",
    "timer": "photometer.instruments.clock",
    "trim_sigfig": "photometer.model.units",
    "unit_to_english": "photometer.model.units",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
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
