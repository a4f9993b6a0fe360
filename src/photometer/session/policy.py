"""Policy: the surroundings of a child, decided in one place for every command.

`photometer run`, `compare`, `ab`, `flame`, … all start their servers with it, so that measurements of different
commands can be compared. docs/architecture.md has the table; tests/session/test_policy_surroundings.py checks it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
import re
import sys
from pathlib import Path

from photometer.model.machine import Environment
from photometer.session.control_group import memory_limit
from photometer.session.layout import Layout
from photometer.worker.accelerators import all_of

# Variables that a worker needs from outside. All others are left out: the environment is on the stack, and its size
# shifts whatever comes after it.
PASSED_ON = ("PATH", "HOME", "LD_LIBRARY_PATH", *all_of(lambda backend: backend.variables))

PRELOAD_VARIABLE = "PHOTOMETER_PRELOAD"

# Environments are padded to a multiple of this; a long PATH has 2 KB.
ENVIRONMENT_BYTES = 8192

FIXED_VARIABLES = {
    # A .pyc written by one run would change the next: it is then read, not compiled.
    "PYTHONDONTWRITEBYTECODE": "1",
    # No folders on the path that may change: -P and -s as variables, which Python 3.10 accepts, too.
    "PYTHONSAFEPATH": "1",
    "PYTHONNOUSERSITE": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Threads that spin while waiting would do so while another side is measured on the same cores; under Valgrind,
    # which runs one thread at a time, they take ten times as long, and their spinning is counted.
    "OMP_WAIT_POLICY": "passive",
}

# For a statement with several threads and nothing measured beside it: they spin for some tenths of a millisecond, as by
# default, before they sleep. Waking them takes about 50 us on a virtual machine, and varies: two layers of a network
# took 25 to 78 us, depending on the process, with sleeping threads, and 15.4 us with these.
SPINNING = {"GOMP_SPINCOUNT": "20000"}

WITHOUT_AVX512 = {
    # Code that reads /proc/cpuinfo sees the real processor, which Valgrind cannot fully emulate: it has no AVX-512.
    "ATEN_CPU_CAPABILITY": "avx2",
    "TORCHINDUCTOR_CPP_MARCH": "x86-64-v3",
    # A pool of compiling processes would be forked under Valgrind.
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}

# The rest is for the servers themselves, the compiler, and whatever else the machine does.
SHARE_OF_FREE_MEMORY = 0.8

RESERVED = ("PYTHONHASHSEED", "PHOTOMETER_PADDING", "PYTHONDONTWRITEBYTECODE")
"""They keep the memory layout fixed, so an environment may not set them."""


def can_fork() -> bool:
    """Return whether a process that has imported torch can be forked safely."""
    return sys.platform == "linux"


@dataclasses.dataclass(frozen=True)
class Policy:
    """The default is what every command uses; the fields are there for experiments on the policy itself."""

    # Whether the kernel has a free huge page is chance, and changes a fork's times by up to 3 %: none are used.
    small_pages: bool = True
    # A benchmark that asks for too much memory fails alone, without taking the machine down.
    limits_memory: bool = True
    # Packages on the user's PYTHONPATH are found in every environment, after its own paths.
    passes_python_path: bool = True
    # What set-ups import is imported once, before the forks. --no-preload sets PHOTOMETER_PRELOAD=0.
    preloads: bool = dataclasses.field(default_factory=lambda: os.environ.get(PRELOAD_VARIABLE, "1") != "0")
    # macOS has fork, but its system libraries do not survive one: there each child is a fresh process.
    forks: bool = dataclasses.field(default_factory=can_fork)

    def variables(
        self, environment: Environment, layout: Layout, *, under_valgrind: bool, spins: bool = False
    ) -> dict[str, str]:
        """Return all variables of a worker: few names, always in the same order, the environment's own last."""
        variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        variables |= {"PYTHONHASHSEED": str(layout.hash_seed), **FIXED_VARIABLES}
        variables |= simd_variables() if under_valgrind else {}
        variables |= SPINNING if spins and not under_valgrind else {}
        variables |= dict(environment.variables)
        if any(name == "OMP_WAIT_POLICY" for name, _ in environment.variables):
            # GOMP_SPINCOUNT would override what the environment asks for.
            variables.pop("GOMP_SPINCOUNT", None)
        # The stack begins below the environment: its size must be the same, whatever PATH and HOME contain.
        size = sum(len(os.fsencode(f"{name}={value}")) + 1 for name, value in variables.items())
        variables["PHOTOMETER_PADDING"] = "x" * (-size % ENVIRONMENT_BYTES + layout.padding_bytes)
        return variables

    def search_path(self, environment: Environment) -> tuple[str, ...]:
        """Return the folders at the start of sys.path."""
        inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep) if self.passes_python_path else []
        folders = [os.path.abspath(folder) for folder in inherited if folder]  # noqa: PTH100
        return (*environment.path, *(folder for folder in folders if folder not in environment.path))

    def importable(self, environment: Environment) -> tuple[str, ...]:
        """Return the folders of the user's own code that come after the standard library."""
        first = self.search_path(environment)
        return tuple(folder for folder in environment.importable if folder not in first)


def simd_variables() -> dict[str, str]:
    """Return variables that restrict generated code to instructions that Valgrind supports."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return {}
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    # Without AVX2 there is nothing to restrict; with AVX2 but without AVX-512, asking for AVX2 changes nothing.
    return WITHOUT_AVX512 if " avx2 " in flags else {}


def memory_limit_bytes(processes: int = 1) -> int | None:
    """Return the memory that each of several simultaneous benchmarks may use; None if the free memory is unknown.

    The limit applies to writable memory (RLIMIT_DATA): not to mapped libraries, nor to address space that CUDA and
    Valgrind reserve without using it.
    """
    free = available_bytes()
    return None if free is None else int(free * SHARE_OF_FREE_MEMORY / processes)


def available_bytes() -> int | None:
    """Return the memory that this machine, or the control group we are in, has free; None if that is unknown."""
    limit = memory_limit()
    known = [_available_on_machine_bytes(), None if limit is None else limit.free_bytes]
    return min((free for free in known if free is not None), default=None)


def limit_memory(pid: int, limit_bytes: int | None) -> None:
    """Limit the memory of this process and of children that it forks from now on."""
    if limit_bytes is None or sys.platform != "linux":
        return
    import resource

    # A container may forbid it (PermissionError); the server may just have died, which its next user will notice.
    with contextlib.suppress(PermissionError, ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_DATA, (limit_bytes, limit_bytes))


def _available_on_machine_bytes() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s*(\d+) kB", text, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None
