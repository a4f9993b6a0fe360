"""What the command's exit status says, so that a script can tell "slower" from "broken".

After a signal it is 128 and the signal's number, as shells count: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
"""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    FINE = 0
    FAILED = 1
    USAGE = 2
    SLOWER = 3
    UNDECIDED = 4
    NOTHING_RAN = 5
