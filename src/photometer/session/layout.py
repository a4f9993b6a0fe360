"""A process whose memory lies the same way every time: the environment variables and the command that give it.

Where a statement's memory happens to lie moves its time by several per cent and its instruction count by up to one.
Each measure here takes one source of that luck away; docs/instruction-counts.md lists them with their reasons.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import shutil
import subprocess
import sys

# What a worker needs from outside. Everything else is left out: the environment lies on the stack, and its size
# shifts whatever comes after it.
PASSED_ON = ("PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")

# Not a folder of the user's: the counts must not depend on where photometer was started.
WORKING_FOLDER = "/"

# Environments are filled up to a multiple of this; a long PATH has 2 KB.
ENVIRONMENT_BYTES = 8192
# Temporary folders rarely have longer names.
PATH_LENGTH = 160


@dataclasses.dataclass(frozen=True)
class Layout:
    """One way for memory to lie. The default is the frozen one; other values give other luck, on purpose."""

    hash_seed: int = 0
    padding_bytes: int = 0


@dataclasses.dataclass(frozen=True)
class Freezing:
    """The command that turns address randomisation off, or why it cannot be."""

    command: tuple[str, ...]
    refused_because: str | None


@functools.lru_cache(maxsize=1)
def freezing() -> Freezing:
    """Ask once whether this machine lets a process turn address randomisation off."""
    if sys.platform != "linux":
        return Freezing((), f"address randomisation cannot be turned off on {sys.platform}")
    setarch = shutil.which("setarch")
    if setarch is None:
        return Freezing((), "setarch (package util-linux) is not installed, so addresses stay random")
    command = (setarch, "-R")
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if tried.returncode != 0:
        return Freezing((), f"setarch -R is refused here ({tried.stderr.strip()}), so addresses stay random")
    return Freezing(command, None)


def frozen_variables(layout: Layout, own: dict[str, str]) -> dict[str, str]:
    """The whole environment of a worker: few names, always in the same order, the user's own ones last."""
    variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    variables |= {
        "PYTHONHASHSEED": str(layout.hash_seed),
        # A .pyc written by one run would change the next: it is then read, not compiled.
        "PYTHONDONTWRITEBYTECODE": "1",
        # No folder that changes on the path: -P and -s as variables, which Python 3.10 accepts too.
        "PYTHONSAFEPATH": "1",
        "PYTHONNOUSERSITE": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    variables |= own
    # The stack begins below the environment: its size is always the same, whatever PATH and HOME hold.
    size = sum(len(os.fsencode(f"{name}={value}")) + 1 for name, value in variables.items())
    variables["PHOTOMETER_PADDING"] = "x" * (-size % ENVIRONMENT_BYTES + layout.padding_bytes)
    return variables


def of_fixed_length(path: str) -> str:
    """The same absolute path with slashes before it, so that its length says nothing: arguments lie on the stack."""
    return path.rjust(PATH_LENGTH, "/")
