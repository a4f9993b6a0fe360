"""What all tests share: a process that can be interrupted, and made-up examples without a time limit.

A shell starts its background jobs with SIGINT ignored, and every process they start inherits that; the tests of Ctrl-C
would then wait for an interruption that nobody hears. A busy machine makes any example slow, so none fails for that. In
CI the examples are the same every time, so that a change is not blamed for what chance brought up. Containers often set
PYTHONDONTWRITEBYTECODE; without bytecode each pytest process rewrites the assertions of 500 files anew (6 s), and each
of the hundreds of commands compiles what it imports.
"""

from __future__ import annotations

import os
import signal
import sys

from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ["tests.sessions"]

settings.register_profile("photometer", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("photometer")
