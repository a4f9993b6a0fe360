"""Reads what callgrind_annotate prints, to compare our own reading with it."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

from photometer.instruments.callgrind.profile import CallgrindProfile
from photometer.model.instruction_counts import FunctionCounts

_ROW = re.compile(r"\s*([\d,]+)\s+(\S.*)$")
_OBJECT = re.compile(r" \[[^\[\]]*\]$")


def run_callgrind_annotate(path: Path, *, inclusive: bool) -> str:
    """Return the rows below the heading. It strips the working folder from file names, hence the root folder."""
    command = ["callgrind_annotate", f"--inclusive={'yes' if inclusive else 'no'}", "--threshold=100"]
    command += ["--show-percs=no", "--auto=no", "--show=Ir", str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout
    return output.split("file:function\n", 1)[1]


def annotated(text: str) -> dict[str, int]:
    """Counts by `file:function`: of functions with one name in two objects, callgrind_annotate knows only one."""
    counts: defaultdict[str, int] = defaultdict(int)
    for line in text.splitlines():
        match = _ROW.match(line)
        if match and match[1].replace(",", "") != "0":
            counts[without_object(match[2])] += int(match[1].replace(",", ""))
    return dict(counts)


def without_object(function: str) -> str:
    return _OBJECT.sub("", function)


def ours(counts: FunctionCounts) -> dict[str, int]:
    return {function: count for count, function in counts.transform(without_object)}


def running_at_the_start(profile: CallgrindProfile) -> set[str]:
    """Functions at either end of a call that began before the counters were zeroed (`calls=0`).

    callgrind_annotate takes the cost line of such a call for the caller's own cost, so these are not comparable.
    """
    names = set()
    for call in profile.calls:
        if call.count == 0:
            names |= {f"{call.caller_file}:{call.caller.name}", f"{call.callee.file}:{call.callee.name}"}
    return names


def without(counts: dict[str, int], names: set[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name not in names}
