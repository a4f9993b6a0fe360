"""What a process has that its forks could not use: an initialised accelerator, threads that were not started by Python.

The check is for processes that have run the user's code and are to be forked: the caller's own, and a stopped pytest.
Standard library only; torch is inspected, never imported.
"""

from __future__ import annotations

import os
import sys
import threading

from .accelerators import was_started


def accelerator_was_started() -> bool:
    """Check without counting devices: after torch.cuda.is_available() a fork can no longer use CUDA."""
    torch = sys.modules.get("torch")
    return torch is not None and was_started(torch)


def has_native_threads() -> bool:
    """Return whether there are threads that Python has not started, such as those of torch's pool; True if unknown."""
    try:
        return len(os.listdir("/proc/self/task")) > threading.active_count()  # noqa: PTH208
    except OSError:
        return True
