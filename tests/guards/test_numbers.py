"""Numbers and their units are written by model/units.py alone: one micro, one minus sign, one way to write per cent."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "photometer"
# What a hand-written number looks like: Python's own per cent, a per cent or a micro right after a brace, a true minus.
BY_HAND = {
    r":[+>\d]*\.\d%\}": "Python's per cent: use units.percent",
    r"f\}%": "per cent without its space: use units.percent",
    r"\} us\b": "microseconds: use units.format_seconds",
    "[\"']−": "a minus sign of its own: `-` is the only one",
    r"\} ?[KMG]iB\b": "bytes: use units.format_bytes",
}
# torch's own look: `(! 12%)` and `(+25.0%)` of Compare's tables, and what a table of layouts of a Timer prints.
ALLOWED = {
    "report/tables/compare_terminal.py",
    "instruments/callgrind/layout_band.py",
    # CSS colours.
    "report/flame_graph.py",
}
# Whole gibibytes and mebibytes of machines, caches and limits, which are no measurements.
BYTES_ALLOWED = ("cli/", "doctor/", "history/identity.py", "instruments/device/", "report/page/view_report.py")


def test_no_number_is_written_by_hand() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name in ALLOWED:
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            for pattern, reason in BY_HAND.items():
                if "iB" in pattern and name.startswith(BYTES_ALLOWED):
                    continue
                if re.search(pattern, line):
                    found.append(f"{name}:{number}: {reason}: {line.strip()}")
    assert found == [], f"{len(found)} found:\n" + "\n".join(found)
