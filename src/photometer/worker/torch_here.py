"""torch_here: the torch of this interpreter, or a stand-in where it has none.

Plain Python code can be measured without torch; then nothing of it is imported, and the name `torch`, which every
statement sees, raises an error that names what is missing as soon as it is used.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

REMEDY = "pip install torch"


def find_torch() -> Any | None:
    """Return torch, imported; None if this interpreter has none. One that cannot be imported raises its error."""
    if "torch" in sys.modules:
        # None in the list of modules is how an import is forbidden.
        return sys.modules["torch"]
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch


def torch_or_missing() -> Any:
    """Return the object that statements see under the name `torch`."""
    torch = find_torch()
    return MISSING if torch is None else torch


def needed_torch(what: str) -> Any:
    """Return torch; raise NoTorch if this interpreter has none."""
    torch = find_torch()
    if torch is None:
        raise missing(what)
    return torch


class NoTorch(RuntimeError):
    """Something needs torch, which this interpreter does not have: one line, with the remedy."""


def missing(what: str) -> NoTorch:
    return NoTorch(f"{what} needs torch, which {sys.executable} does not have: {REMEDY}")


class MissingTorch:
    """The stand-in for torch."""

    @staticmethod
    def manual_seed(seed: int) -> None:
        """Do nothing: there is no generator of torch's, and all others are seeded before the set-up."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Something asks what kind of object this is.
            raise AttributeError(name)
        raise missing(f"torch.{name}")


MISSING = MissingTorch()
