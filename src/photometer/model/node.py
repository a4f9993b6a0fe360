"""Node: a machine of a cluster that took part in a run, with its facts. A results file has one record of each.

Records of measurements say under "nodes" which of them measured. Only data lives here.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from photometer.model.machine import Machine


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
