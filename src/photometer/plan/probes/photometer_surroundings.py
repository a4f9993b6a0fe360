"""Writes what surrounded a statement as JSON, so that the two sides of a comparison can be held against each other.

Runs in the worker, beside the user's snippet, where photometer itself may be missing: standard library only. In comes
the folder of a checkout, out come the modules imported from it, torch's threads, and what becomes of denormals.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# Below the smallest normal float32 (1.2e-38): a processor told to flush denormals makes it zero.
DENORMAL = 1e-40


def write_surroundings(path: str, checkout: str) -> None:
    torch = sys.modules["torch"]
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    record = {
        "modules": sorted(name for name, file in files.items() if checkout and str(file).startswith(checkout)),
        "num_threads": torch.get_num_threads(),
        "flushes_denormals": bool(torch.tensor([DENORMAL]).mul(1.0).item() == 0.0),
    }
    Path(path).write_text(json.dumps(record), encoding="utf-8")
