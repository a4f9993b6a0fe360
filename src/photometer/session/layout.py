"""Layout: one way for a process's memory to lie, and what holds it still.

Where a statement's memory happens to lie moves its time by several per cent and its instruction count by up to one.
docs/instruction-counts.md lists every measure against it with its reason; the variables among them are in policy.py.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import shutil
import subprocess
import sys

# Temporary folders rarely have longer names.
PATH_LENGTH = 160

LARGEST_PADDING_BYTES = 4096
"""A page: what lies on the stack then begins at any place in one."""

LARGEST_HASH_SEED = 4_294_967_295
"""The largest that PYTHONHASHSEED takes."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """The default is the frozen layout; other values give others, on purpose."""

    hash_seed: int = 0
    padding_bytes: int = 0


def random_layouts(number: int, seed: int = 0) -> tuple[Layout, ...]:
    """Return so many layouts, the same for the same seed."""
    source = random.Random(seed)
    return tuple(
        Layout(source.randint(1, LARGEST_HASH_SEED), source.randrange(0, LARGEST_PADDING_BYTES)) for _ in range(number)
    )


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


def of_fixed_length(path: str) -> str:
    """Return the same absolute path with slashes before it, so that its length is fixed: arguments lie on the stack."""
    return path.rjust(PATH_LENGTH, "/")
