"""The pytest plugin that pytest loads by its entry point. Everything else is imported when a session needs it.

options, fixtures      what a test may ask for (standard library and pytest only: both sides of a comparison use it)
running, measuring     benchmarks of this process, their table, results file and store
compared, paired, …    --photometer-compare: the same tests in two environments at once
far_side               the pytest process of one side, which stops at each benchmark
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    from .options import add_options

    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from .options import add_hooks

    add_hooks(pluginmanager)


def pytest_configure(config: pytest.Config) -> None:
    from .options import register_marks
    from .running import register_plugins

    register_marks(config)
    register_plugins(config)
