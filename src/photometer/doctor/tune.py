"""The changes that `photometer doctor --tune` makes: the governor of each core, the persistence mode of each GPU.

Out: what was changed, each with the command that undoes it, and what could not be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from photometer.doctor.gpu import Gpu
from photometer.doctor.processor import SystemFiles, governors

STEADY_GOVERNOR = "performance"


@dataclasses.dataclass(frozen=True)
class Change:
    """`undo` is a command for a shell; `refused` says why nothing was changed."""

    what: str
    undo: str = ""
    refused: str = ""


def tune(files: SystemFiles, gpus: Sequence[Gpu]) -> list[Change]:
    """Make all changes that are possible here. None means that there is nothing to change."""
    return [*_tune_governors(files), *_tune_gpus(gpus)]


def _tune_governors(files: SystemFiles) -> list[Change]:
    by_former: dict[str, list[str]] = {}
    for name, governor in governors(files).items():
        if governor != STEADY_GOVERNOR:
            by_former.setdefault(governor, []).append(name)
    changes = []
    for former, names in by_former.items():
        cores = "a core" if len(names) == 1 else f"{len(names)} cores"
        what = f"governor of {cores}: {former} to {STEADY_GOVERNOR}"
        try:
            for name in names:
                files.path(name).write_text(STEADY_GOVERNOR)
        except OSError as error:
            changes.append(Change(what, refused=f"{error.strerror or error}; run it as root"))
        else:
            changes.append(Change(what, undo=f"echo {former} | sudo tee {' '.join(names)}"))
    return changes


def _tune_gpus(gpus: Sequence[Gpu]) -> list[Change]:
    changes = []
    for gpu in gpus:
        if gpu.is_persistent is not False:
            continue
        what = f"persistence mode of GPU {gpu.number}: off to on"
        refused = gpu.set_persistent()
        if refused is None:
            changes.append(Change(what, undo=f"sudo nvidia-smi -i {gpu.number} -pm 0"))
        else:
            changes.append(Change(what, refused=f"{refused}; run it as root"))
    return changes
