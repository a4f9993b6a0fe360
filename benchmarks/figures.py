"""Tables that README and docs show, as files: docs/figures/NAME.json, written by the script that took the figures.

A page names the file in a comment (`<!-- figures: NAME -->` before a table, `<!-- figure: NAME#ROW -->` before a
paragraph), and tests/guards/test_figures.py holds the page to it. Values are text, as the page shows them.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"


def write_figures(
    name: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]], *, kept: Path | None = None, machine: str = ""
) -> Path:
    """Write a table: a row's name to its values, one per column. Return the file.

    `kept` is the file of raw results, if they were taken earlier, and `machine` where, if not here.
    """
    from photometer.instruments.machine_facts import gather_machine

    for row, values in rows.items():
        assert len(values) == len(columns), f"{row}: {len(values)} values for {len(columns)} columns"
    table = {
        "script": f"benchmarks/{Path(sys.argv[0]).name}",
        "taken": datetime.date.fromtimestamp(time.time() if kept is None else kept.stat().st_mtime).isoformat(),
        "machine": machine or gather_machine().summary(),
        "columns": list(columns),
        "rows": {row: list(values) for row, values in rows.items()},
    }
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(table, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {path}", file=sys.stderr)
    return path
