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
    from photometer.analysis.flame_tree import frame_changes as frame_changes
    from photometer.analysis.fuzz_map import FuzzMap as FuzzMap
    from photometer.analysis.ranking import Ranking as Ranking
    from photometer.analysis.table import ordered_unique as ordered_unique
    from photometer.analysis.verdict import Verdict as Verdict
    from photometer.comparing.environments import compare_environments as compare_environments
    from photometer.comparing.request import (
        ComparisonSettings as ComparisonSettings,
        plan_suite as plan_suite,
    )
    from photometer.comparing.statements import (
        ab as ab,
        ab_device as ab_device,
    )
    from photometer.definition import (
        GroupedModules as GroupedModules,
        GroupedSetup as GroupedSetup,
        GroupedStmts as GroupedStmts,
        GroupedVariants as GroupedVariants,
        Suite as Suite,
        TimerArgs as TimerArgs,
        TrainingStep as TrainingStep,
        iter_parsed_lines as iter_parsed_lines,
        load_suite as load_suite,
        parse_stmts as parse_stmts,
        powers as powers,
        shipped_suites as shipped_suites,
        sweep as sweep,
    )
    from photometer.errors import (
        BuildError as BuildError,
        CacheError as CacheError,
        CallgrindFileError as CallgrindFileError,
        CountError as CountError,
        DefinitionError as DefinitionError,
        DeviceMissing as DeviceMissing,
        EnvironmentSpecError as EnvironmentSpecError,
        ImpossibleSpec as ImpossibleSpec,
        MeasurementError as MeasurementError,
        PhotometerError as PhotometerError,
        ProtocolError as ProtocolError,
        ResultsFileError as ResultsFileError,
        SnippetError as SnippetError,
        StoreError as StoreError,
        ToolMissing as ToolMissing,
        ToolRefused as ToolRefused,
        WorkerCrashed as WorkerCrashed,
        WorkerError as WorkerError,
        WorkerStartError as WorkerStartError,
        WorkerTimeout as WorkerTimeout,
    )
    from photometer.execution.run_settings import RunSettings as RunSettings
    from photometer.fuzz_maps import fuzz as fuzz
    from photometer.fuzzing import (
        FuzzedParameter as FuzzedParameter,
        FuzzedSparseTensor as FuzzedSparseTensor,
        FuzzedTensor as FuzzedTensor,
        Fuzzer as Fuzzer,
        ParameterAlias as ParameterAlias,
    )
    from photometer.history.all_changes import changes_in as changes_in
    from photometer.history.change_points import find_changes as find_changes
    from photometer.history.ingest import add_file as add_file
    from photometer.history.store import open_store as open_store
    from photometer.instruments.callgrind.call_tree import folded_stacks as folded_stacks
    from photometer.instruments.callgrind.count_task import (
        CountedTask as CountedTask,
        CountTask as CountTask,
    )
    from photometer.instruments.callgrind.counter import count_many as count_many
    from photometer.instruments.callgrind.layout_band import layout_bands as layout_bands
    from photometer.instruments.clock import timer as timer
    from photometer.instruments.cpp.build import build_snippets as build_snippets
    from photometer.instruments.cpp.snippet import (
        CppOptions as CppOptions,
        CppSnippet as CppSnippet,
    )
    from photometer.instruments.processor_instructions import perf_refusal as perf_refusal
    from photometer.model.callgrind_stats import CallgrindStats as CallgrindStats
    from photometer.model.copy_if_callgrind import CopyIfCallgrind as CopyIfCallgrind
    from photometer.model.device_measurement import DeviceMeasurement as DeviceMeasurement
    from photometer.model.environment import Environment as Environment
    from photometer.model.function_counts import (
        FunctionCount as FunctionCount,
        FunctionCounts as FunctionCounts,
    )
    from photometer.model.instruction_counts import InstructionCounts as InstructionCounts
    from photometer.model.language import Language as Language
    from photometer.model.measurement import Measurement as Measurement
    from photometer.model.memory_measurement import MemoryMeasurement as MemoryMeasurement
    from photometer.model.processor_counts import ProcessorCounts as ProcessorCounts
    from photometer.model.results_file import ResultsFile as ResultsFile
    from photometer.model.results_reader import (
        Results as Results,
        load_results as load_results,
    )
    from photometer.model.task import TaskSpec as TaskSpec
    from photometer.model.units import (
        select_unit as select_unit,
        trim_sigfig as trim_sigfig,
        unit_to_english as unit_to_english,
    )
    from photometer.op_fuzzers import (
        AttentionFuzzer as AttentionFuzzer,
        BinaryOpFuzzer as BinaryOpFuzzer,
        BinaryOpSparseFuzzer as BinaryOpSparseFuzzer,
        ConvolutionFuzzer as ConvolutionFuzzer,
        MatmulFuzzer as MatmulFuzzer,
        ReductionFuzzer as ReductionFuzzer,
        SpectralOpFuzzer as SpectralOpFuzzer,
        UnaryOpFuzzer as UnaryOpFuzzer,
        UnaryOpSparseFuzzer as UnaryOpSparseFuzzer,
    )
    from photometer.pipeline import (
        RunReport as RunReport,
        check_suite as check_suite,
        run_suite as run_suite,
    )
    from photometer.plan import materialize as materialize
    from photometer.report.device_text import render_device as render_device
    from photometer.report.flame_graph import render_flame_difference as render_flame_difference
    from photometer.report.fuzz_text import render_fuzz_text as render_fuzz_text
    from photometer.report.page.page import render_fuzz_page as render_fuzz_page
    from photometer.results import (
        LoadedResults as LoadedResults,
        load as load,
        make_report as make_report,
        save as save,
    )
    from photometer.session.layout import random_layouts as random_layouts
    from photometer.tables import (
        Colorize as Colorize,
        Compare as Compare,
    )
    from photometer.timing import Timer as Timer
    from photometer.worker.native_loop import NativeLoop as NativeLoop
    from photometer.worker.threads import set_torch_threads as set_torch_threads

__version__ = "0.1.0"

_HOME = {
    "AttentionFuzzer": "photometer.op_fuzzers",
    "BinaryOpFuzzer": "photometer.op_fuzzers",
    "BinaryOpSparseFuzzer": "photometer.op_fuzzers",
    "BuildError": "photometer.errors",
    "CacheError": "photometer.errors",
    "CallgrindFileError": "photometer.errors",
    "CallgrindStats": "photometer.model.callgrind_stats",
    "Colorize": "photometer.tables",
    "Compare": "photometer.tables",
    "ComparisonSettings": "photometer.comparing.request",
    "ConvolutionFuzzer": "photometer.op_fuzzers",
    "CopyIfCallgrind": "photometer.model.copy_if_callgrind",
    "CountError": "photometer.errors",
    "CountTask": "photometer.instruments.callgrind.count_task",
    "CountedTask": "photometer.instruments.callgrind.count_task",
    "CppOptions": "photometer.instruments.cpp.snippet",
    "CppSnippet": "photometer.instruments.cpp.snippet",
    "DefinitionError": "photometer.errors",
    "DeviceMeasurement": "photometer.model.device_measurement",
    "DeviceMissing": "photometer.errors",
    "Environment": "photometer.model.environment",
    "EnvironmentComparison": "photometer.analysis.comparison_result",
    "EnvironmentSpecError": "photometer.errors",
    "FunctionCount": "photometer.model.function_counts",
    "FunctionCounts": "photometer.model.function_counts",
    "FuzzMap": "photometer.analysis.fuzz_map",
    "FuzzedParameter": "photometer.fuzzing",
    "FuzzedSparseTensor": "photometer.fuzzing",
    "FuzzedTensor": "photometer.fuzzing",
    "Fuzzer": "photometer.fuzzing",
    "GroupedModules": "photometer.definition",
    "GroupedSetup": "photometer.definition",
    "GroupedStmts": "photometer.definition",
    "GroupedVariants": "photometer.definition",
    "ImpossibleSpec": "photometer.errors",
    "InstructionCounts": "photometer.model.instruction_counts",
    "Language": "photometer.model.language",
    "LoadedResults": "photometer.results",
    "MatmulFuzzer": "photometer.op_fuzzers",
    "Measurement": "photometer.model.measurement",
    "MeasurementError": "photometer.errors",
    "MemoryMeasurement": "photometer.model.memory_measurement",
    "NativeLoop": "photometer.worker.native_loop",
    "ParameterAlias": "photometer.fuzzing",
    "PhotometerError": "photometer.errors",
    "ProcessorCounts": "photometer.model.processor_counts",
    "ProtocolError": "photometer.errors",
    "Ranking": "photometer.analysis.ranking",
    "ReductionFuzzer": "photometer.op_fuzzers",
    "Results": "photometer.model.results_reader",
    "ResultsFile": "photometer.model.results_file",
    "ResultsFileError": "photometer.errors",
    "RunReport": "photometer.pipeline",
    "RunSettings": "photometer.execution.run_settings",
    "SnippetError": "photometer.errors",
    "SpectralOpFuzzer": "photometer.op_fuzzers",
    "StoreError": "photometer.errors",
    "Suite": "photometer.definition",
    "TaskSpec": "photometer.model.task",
    "Timer": "photometer.timing",
    "TimerArgs": "photometer.definition",
    "ToolMissing": "photometer.errors",
    "ToolRefused": "photometer.errors",
    "TrainingStep": "photometer.definition",
    "UnaryOpFuzzer": "photometer.op_fuzzers",
    "UnaryOpSparseFuzzer": "photometer.op_fuzzers",
    "Verdict": "photometer.analysis.verdict",
    "WorkerCrashed": "photometer.errors",
    "WorkerError": "photometer.errors",
    "WorkerStartError": "photometer.errors",
    "WorkerTimeout": "photometer.errors",
    "ab": "photometer.comparing.statements",
    "ab_device": "photometer.comparing.statements",
    "add_file": "photometer.history.ingest",
    "build_snippets": "photometer.instruments.cpp.build",
    "changes_in": "photometer.history.all_changes",
    "check_suite": "photometer.pipeline",
    "compare_environments": "photometer.comparing.environments",
    "count_many": "photometer.instruments.callgrind.counter",
    "find_changes": "photometer.history.change_points",
    "folded_stacks": "photometer.instruments.callgrind.call_tree",
    "frame_changes": "photometer.analysis.flame_tree",
    "fuzz": "photometer.fuzz_maps",
    "iter_parsed_lines": "photometer.definition",
    "layout_bands": "photometer.instruments.callgrind.layout_band",
    "load": "photometer.results",
    "load_results": "photometer.model.results_reader",
    "load_suite": "photometer.definition",
    "make_report": "photometer.results",
    "materialize": "photometer.plan",
    "open_store": "photometer.history.store",
    "ordered_unique": "photometer.analysis.table",
    "parse_stmts": "photometer.definition",
    "perf_refusal": "photometer.instruments.processor_instructions",
    "plan_suite": "photometer.comparing.request",
    "powers": "photometer.definition",
    "random_layouts": "photometer.session.layout",
    "render_device": "photometer.report.device_text",
    "render_flame_difference": "photometer.report.flame_graph",
    "render_fuzz_page": "photometer.report.page.page",
    "render_fuzz_text": "photometer.report.fuzz_text",
    "run_suite": "photometer.pipeline",
    "save": "photometer.results",
    "select_unit": "photometer.model.units",
    "set_torch_threads": "photometer.worker.threads",
    "shipped_suites": "photometer.definition",
    "sweep": "photometer.definition",
    "timer": "photometer.instruments.clock",
    "trim_sigfig": "photometer.model.units",
    "unit_to_english": "photometer.model.units",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "testing":
        # A module, as `triton.testing` is.
        return importlib.import_module("photometer.testing")
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
