"""Figures that README and docs show, as files: docs/figures/NAME.json, a table that the script wrote that took them.

A page names the file in a comment (`<!-- figures: NAME -->` before a table, `<!-- figure: NAME#ROW -->` before a
paragraph), and tests/guards/test_figures.py holds the page to it. Values are text, as the page shows them.

A script that writes no such file is run by this one, which keeps what it prints as docs/figures/NAME.txt; a page then
says `<!-- printed: NAME -->`, and every figure of its table or paragraph must be in that text:

    python benchmarks/figures.py benchmarks/cpp_build.py
"""

from __future__ import annotations

import datetime
import json
import subprocess
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


def keep_output(script: Path, words: Sequence[str]) -> int:
    """Run a script, show what it prints, and keep it. A script that fails keeps what is there."""
    from photometer.instruments.machine_facts import gather_machine

    lines = [
        " ".join(["$ python", f"benchmarks/{script.name}", *words]),
        f"# {datetime.date.today().isoformat()}, {gather_machine().summary()}",
    ]
    with subprocess.Popen([sys.executable, script, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    if process.returncode == 0:
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{script.stem}.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"written: {path}", file=sys.stderr)
    return process.returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python benchmarks/figures.py benchmarks/SCRIPT.py [ARGUMENTS]")
    sys.exit(keep_output(Path(sys.argv[1]), sys.argv[2:]))
