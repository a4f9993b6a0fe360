"""The hooks of pytest-benchmark, names and arguments only, so that a conftest.py that implements some can be loaded.

Nothing calls them: photometer has no such tables, files or comparisons for them to change.
"""

from __future__ import annotations

from typing import Any


def pytest_benchmark_scale_unit(config: Any, unit: Any, benchmarks: Any, best: Any, worst: Any, sort: Any) -> None: ...


def pytest_benchmark_generate_machine_info(config: Any) -> None: ...


def pytest_benchmark_update_machine_info(config: Any, machine_info: Any) -> None: ...


def pytest_benchmark_generate_commit_info(config: Any) -> None: ...


def pytest_benchmark_update_commit_info(config: Any, commit_info: Any) -> None: ...


def pytest_benchmark_group_stats(config: Any, benchmarks: Any, group_by: Any) -> None: ...


def pytest_benchmark_generate_json(
    config: Any, benchmarks: Any, include_data: Any, machine_info: Any, commit_info: Any
) -> None: ...


def pytest_benchmark_update_json(config: Any, benchmarks: Any, output_json: Any) -> None: ...


def pytest_benchmark_compare_machine_info(
    config: Any, benchmarksession: Any, machine_info: Any, compared_benchmark: Any
) -> None: ...
