"""A device is measured inside the measured environment, which need not have photometer's dependencies."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
before = set(sys.modules)
import photometer.instruments.device.measure, photometer.instruments.device.torch_accelerator
needed = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(needed - set(sys.stdlib_module_names) - {"photometer"}))
"""


def test_measuring_imports_the_standard_library_alone() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
