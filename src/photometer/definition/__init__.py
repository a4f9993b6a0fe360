"""What an author writes: statements, modules and blocks in groups, tables of two languages, suites of them.

In comes text, out come frozen, checked nouns; every mistake is a DefinitionError that shows its place. No torch here.
"""

from photometer.definition.grouped import (
    GroupedBenchmark,
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    Label,
)
from photometer.definition.labels import flatten
from photometer.definition.loading import load_suite, shipped_suites
from photometer.definition.stmt_table import iter_parsed_lines, parse_stmts
from photometer.definition.suite import Suite, SuiteEntry
from photometer.definition.timer_args import TimerArgs

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
    "flatten",
    "iter_parsed_lines",
    "load_suite",
    "parse_stmts",
    "shipped_suites",
]
