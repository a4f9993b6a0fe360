"""run_program: run another program to its end, without a shell or input, for a limited time; keep what it prints.

For tools that are asked something or do one thing: a compiler, Valgrind, py-spy, a browser, nvidia-smi, pip. git, which
reads and writes bytes, has a runner of its own (git.py), and so have commands that take minutes and start others
(environments/command.py).
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence


def run_program(
    command: Sequence[str], seconds: float, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Return how the program ended and what it printed; raise OSError if it does not start, or not end in time."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=variables,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        # This is an OSError, too: most callers only need to know that there is no output.
        raise TimeoutError(f"{command[0]} did not finish within {seconds:g} s") from error
