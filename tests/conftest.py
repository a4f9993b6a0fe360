"""What all tests share: a process that can be interrupted.

A shell starts its background jobs with SIGINT ignored, and every process they start inherits that; the tests of Ctrl-C
would then wait for an interruption that nobody hears.
"""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
