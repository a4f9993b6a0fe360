"""Machine: the facts of the machine and software a measurement was taken on. They stand at the head of a results file.

MachineNoise: the disturbances during a measurement. Environment: which interpreter is measured, with which settings.
Node: a machine of a cluster that took part in a run; a file has one record of each, and records of measurements say
under "nodes" which of them measured. Only data lives here: `instruments/machine_facts.py` and
`instruments/noise_watch.py` collect the facts, and session/fork_server.py starts an Environment. Unknown facts are
None. `torch_names` names the files of several runs that were measured with different builds of torch: measurements of
one task are merged into one figure, which is right for repeats and wrong for two versions of torch.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

from photometer.model.own_code import importable_here


@dataclasses.dataclass(frozen=True)
class Environment:
    """A Python interpreter with torch, paths to put first on its sys.path, and environment variables.

    `importable` are folders of the user's own code (see own_code.py), which come after the standard library.
    """

    python: str
    path: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    name: str = ""
    importable: tuple[str, ...] = ()

    @classmethod
    def current(cls, **changes: Any) -> Environment:
        """Return the interpreter that runs this, with this process's folders for imports."""
        return cls(**{"python": sys.executable, "importable": importable_here(), **changes})

    def with_code(self, folders: tuple[str, ...]) -> Environment:
        """Return the environment with these folders first on its path: the code of a suite of another tool."""
        if self.path[: len(folders)] == folders:
            return self
        return dataclasses.replace(self, path=(*folders, *self.path))


@dataclasses.dataclass(frozen=True)
class TorchBuild:
    """The version of torch, and how it was compiled."""

    version: str | None = None
    git_version: str | None = None
    debug: bool | None = None
    cuda: str | None = None
    hip: str | None = None
    cpu_capability: str | None = None
    cxx_flags: str | None = None


@dataclasses.dataclass(frozen=True)
class Machine:
    """The facts of a machine. Unknown ones are None, and are left out of files."""

    cpu_model: str | None = None
    logical_cores: int | None = None
    usable_cores: int | None = None
    governor: str | None = None
    memory_bytes: int | None = None
    kernel: str | None = None
    hypervisor: str | None = None
    stolen_share: int | float | None = None
    python: str | None = None
    torch: TorchBuild | None = None
    photometer: str | None = None
    commit: str | None = None
    commit_is_dirty: bool | None = None
    commit_unknown_because: str | None = None
    date: str | None = None

    def summary(self) -> str:
        """Return one line for a person: what is known of the CPU and the software."""
        cores = None if self.logical_cores is None else f"{self.logical_cores} cores"
        torch = None if self.torch is None else f"torch {self.torch.version}"
        python = None if self.python is None else f"Python {self.python}"
        governor = None if self.governor is None else f"governor {self.governor}"
        commit = (
            None
            if self.commit is None
            else f"commit {self.commit[:10]}" + (" (changed)" if self.commit_is_dirty else "")
        )
        parts = [self.cpu_model, cores, governor, torch, python, commit, self.date]
        return ", ".join(part for part in parts if part) or "unknown machine"


@dataclasses.dataclass(frozen=True)
class MachineNoise:
    """Other activity during a measurement: other work, stolen time, a clock that changed.

    Shares are of the time between the first look and the last. Facts that the machine does not report are None.
    """

    others_busy_share: float | None = None
    stolen_share: float | None = None
    lowest_megahertz: float | None = None
    highest_megahertz: float | None = None
    waited_seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Node:
    """`cores` are those that photometer may use; `is_shared` if others may use the machine's other cores meanwhile."""

    KIND: ClassVar[str] = "node"

    name: str
    machine: Machine = dataclasses.field(default_factory=Machine)
    cores: int = 1
    gpus: int = 0
    is_shared: bool = False
    # What a count depends on besides the code: where the interpreter is, the C library, what the processor can do.
    python_path: str = ""
    c_library: str = ""
    valgrind: str = ""
    counting_as: tuple[str, ...] = ()
    # Compiler, C library and build of torch: what is built with the same ones can be shared.
    toolchain: str = ""

    @property
    def type(self) -> str:
        """Return the properties that machines must share for their times to stand in one table."""
        machine = self.machine
        cores = f", {machine.logical_cores} processors" if machine.logical_cores else ""
        return f"{machine.cpu_model or 'unknown processor'}{cores}"

    @property
    def counting_type(self) -> str:
        """Return the properties that machines must share for their counts to stand in one table."""
        capability = dict(part.split("=", 1) for part in self.counting_as if "=" in part).get("ATEN_CPU_CAPABILITY")
        words = (
            capability or "no AVX2",
            self.c_library or "unknown C library",
            f"Valgrind {self.valgrind}" if self.valgrind else "no Valgrind",
        )
        return ", ".join(words)


def why_counts_differ(here: Node, there: Node) -> list[str]:
    """Return the differences between two nodes on which a count may depend, in words."""
    facts = {
        "counting for": (" ".join(here.counting_as), " ".join(there.counting_as)),
        "C library": (here.c_library, there.c_library),
        "Valgrind": (here.valgrind, there.valgrind),
        "interpreter": (here.python_path, there.python_path),
        "kernel": (here.machine.kernel or "", there.machine.kernel or ""),
        "processor": (here.machine.cpu_model or "", there.machine.cpu_model or ""),
    }
    return [
        f"{name}: {ours or 'none'} and {theirs or 'none'}" for name, (ours, theirs) in facts.items() if ours != theirs
    ]


def torch_names(machines: Sequence[Machine | None]) -> list[str | None]:
    """Return a name per file: None if all have the same Python and torch, otherwise the parts in which they differ."""
    described = [_description(machine) for machine in machines]
    known = {each for each in described if each is not None}
    if len(known) <= 1:
        return [None] * len(machines)
    for length in range(1, len(next(iter(known))) + 1):
        if len({each[:length] for each in known}) == len(known):
            break
    return [None if each is None else ", ".join(part for part in each[:length] if part) for each in described]


def _description(machine: Machine | None) -> tuple[str, ...] | None:
    """Return what identifies a build, the plainest first."""
    if machine is None or machine.torch is None or machine.torch.version is None:
        return None
    torch = machine.torch
    return (
        f"torch {torch.version}",
        f"Python {machine.python}" if machine.python else "",
        f"CUDA {torch.cuda}" if torch.cuda else "",
        "debug" if torch.debug else "",
        f"commit {torch.git_version[:10]}" if torch.git_version else "",
        f"flags {torch.cxx_flags}" if torch.cxx_flags else "",
    )
