"""Layout: one arrangement of a process's memory, and the measures that keep it fixed.

The addresses of a statement's memory change its time by several per cent and its instruction count by up to one per
cent. docs/instruction-counts.md lists every measure against that with its reason; the variables are in policy.py.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import shutil
import sys

from photometer.programs import run_program

# Temporary folders rarely have longer names.
PATH_LENGTH = 160

# It takes a millisecond; only a machine that has stopped takes longer.
TRYING_SECONDS = 30.0

LARGEST_PADDING_BYTES = 4096
"""One page: the stack then begins anywhere within a page."""

LARGEST_HASH_SEED = 4_294_967_295
"""The largest value that PYTHONHASHSEED accepts."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """The default is the frozen layout; other values select other layouts on purpose."""

    hash_seed: int = 0
    padding_bytes: int = 0


def random_layouts(number: int, seed: int = 0) -> tuple[Layout, ...]:
    """Return `number` layouts, the same for the same seed."""
    source = random.Random(seed)
    return tuple(
        Layout(source.randint(1, LARGEST_HASH_SEED), source.randrange(0, LARGEST_PADDING_BYTES)) for _ in range(number)
    )


@dataclasses.dataclass(frozen=True)
class Freezing:
    """The command that turns address randomisation off, or why that is impossible."""

    command: tuple[str, ...]
    refused_because: str | None


@functools.lru_cache(maxsize=1)
def freezing() -> Freezing:
    """Find out, once, whether a process can turn address randomisation off on this machine."""
    if sys.platform != "linux":
        return Freezing((), f"address randomisation cannot be turned off on {sys.platform}")
    setarch = shutil.which("setarch")
    if setarch is None:
        return Freezing((), "setarch (package util-linux) is not installed, so addresses stay random")
    command = (setarch, "-R")
    try:
        tried = run_program([*command, "true"], TRYING_SECONDS)
    except OSError as error:
        return Freezing((), f"setarch -R does not run here ({error}), so addresses stay random")
    if tried.returncode != 0:
        return Freezing((), f"setarch -R is refused here ({tried.stderr.strip()}), so addresses stay random")
    return Freezing(command, None)


def of_fixed_length(path: str) -> str:
    """Pad an absolute path with leading slashes to a fixed length: arguments are on the stack."""
    return path.rjust(PATH_LENGTH, "/")
