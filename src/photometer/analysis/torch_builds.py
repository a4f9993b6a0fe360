"""torch_names: names that distinguish the files of several runs if they were measured with different builds of torch.

Measurements of one task are merged into one figure, which is right for repeats and wrong for two versions of torch.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.model.machine import Machine


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
