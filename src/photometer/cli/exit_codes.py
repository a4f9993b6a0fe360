"""What the command's exit status says, so that a script can tell "slower" from "broken"."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    FINE = 0
    FAILED = 1
    USAGE = 2
    SLOWER = 3
    UNDECIDED = 4
    NOTHING_RAN = 5
