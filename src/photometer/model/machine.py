"""Machine: the facts of the machine and software a measurement was taken on. They stand at the head of a results file.

Only data lives here; `instruments/machine_facts.py` gathers it. What could not be known is None.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_type_hints

from photometer.errors import ResultsFileError


def _values(cls: type, record: Mapping[str, Any]) -> dict[str, Any]:
    """The known fields of `cls` in `record`, each checked against its annotation; newer fields are left alone."""
    hints = get_type_hints(cls)
    values = {}
    for field in dataclasses.fields(cls):
        if field.name not in record:
            continue
        value = record[field.name]
        if not isinstance(value, hints[field.name]):
            raise ResultsFileError(f"machine.{field.name} has an unexpected value {value!r}")
        values[field.name] = value
    return values


@dataclasses.dataclass(frozen=True)
class TorchBuild:
    """Which torch, and how it was compiled."""

    version: str | None = None
    git_version: str | None = None
    debug: bool | None = None
    cuda: str | None = None
    hip: str | None = None
    cpu_capability: str | None = None
    cxx_flags: str | None = None


@dataclasses.dataclass(frozen=True)
class Machine:
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
        """One line for a person: what is known of the CPU and the software."""
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

    def to_json(self) -> dict[str, Any]:
        record = {k: v for k, v in dataclasses.asdict(self).items() if v is not None}
        if self.torch is not None:
            record["torch"] = {k: v for k, v in dataclasses.asdict(self.torch).items() if v is not None}
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Machine:
        build = record.get("torch")
        if build is not None and not isinstance(build, Mapping):
            raise ResultsFileError(f"machine.torch has an unexpected value {build!r}")
        values = _values(cls, {name: value for name, value in record.items() if name != "torch"})
        return cls(**values, torch=None if build is None else TorchBuild(**_values(TorchBuild, build)))
