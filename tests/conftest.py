"""What all tests share: a process that can be interrupted, and made-up examples without a time limit.

A shell starts its background jobs with SIGINT ignored, and every process they start inherits that; the tests of Ctrl-C
would then wait for an interruption that never comes. A busy machine makes any example slow, so none fails for that. The
examples are the same every time, so that a change is not blamed for what chance brought up; new ones are drawn with
`--hypothesis-profile=random`. Containers often set PYTHONDONTWRITEBYTECODE; without bytecode each pytest process
rewrites the assertions of 500 files anew (6 s), and each of the hundreds of commands compiles what it imports.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from photometer.cli.ending import ENDING_SIGNALS

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ["tests.sessions", "tests.compiled"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Let signals be handled after each test as before it.

    A command that was ended, such as by its --limit, leaves them ignored, because its process ends; in a test it runs
    in this process, and its successors would never see a Ctrl-C or a SIGTERM again.
    """
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    try:
        return (yield)
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of Python's garbage collection.

    It stays until the end, and looking through it again and again took a sixth of the processor time of the tests.
    """
    gc.collect()
    gc.freeze()


for name in ("photometer", "random"):
    settings.register_profile(
        name, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=name != "random"
    )
settings.load_profile("photometer")
