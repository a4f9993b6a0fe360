"""What an author of a suite writes: groups of statements, modules and blocks, tables of two languages, and suites.

In comes text, out come frozen, checked dataclasses; every mistake is a DefinitionError that shows its place. torch is
not imported.
"""

from photometer.definition.axes import powers, sweep
from photometer.definition.grouped import (
    GroupedBenchmark,
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    Label,
)
from photometer.definition.loading import load_suite, shipped_suites
from photometer.definition.paired_code import iter_parsed_lines, parse_stmts
from photometer.definition.suite import Suite, SuiteEntry, flatten
from photometer.definition.timer_args import TimerArgs
from photometer.definition.training import TrainingStep

__all__ = [
    "GroupedBenchmark",
    "GroupedModules",
    "GroupedSetup",
    "GroupedStmts",
    "GroupedVariants",
    "Label",
    "Suite",
    "SuiteEntry",
    "TimerArgs",
    "TrainingStep",
    "flatten",
    "iter_parsed_lines",
    "load_suite",
    "parse_stmts",
    "powers",
    "shipped_suites",
    "sweep",
]
