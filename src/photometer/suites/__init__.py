"""The suites that come with photometer, and what suites are: loaded, spelled out as work orders, parsed.

`photometer run standard` loads `standard.BENCHMARKS`.
"""

from __future__ import annotations

from photometer.analysis.check_results import CheckedBenchmark as CheckedBenchmark
from photometer.definition import (
    GroupedBenchmark as GroupedBenchmark,
    Suite as Suite,
    iter_parsed_lines as iter_parsed_lines,
    load_suite as load_suite,
    parse_stmts as parse_stmts,
    shipped_suites as shipped_suites,
)
from photometer.plan import materialize as materialize
from photometer.plan.work_order import WorkOrder as WorkOrder, WorkOrders as WorkOrders

__all__ = [
    "CheckedBenchmark",
    "GroupedBenchmark",
    "Suite",
    "WorkOrder",
    "WorkOrders",
    "iter_parsed_lines",
    "load_suite",
    "materialize",
    "parse_stmts",
    "shipped_suites",
]
