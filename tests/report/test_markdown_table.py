from __future__ import annotations

import re

from photometer.analysis.table import Colorize, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.report.markdown_table import render_markdown
from tests.analysis.measurements import made

HOSTILE = "a|b`c`\n# <img src=x onerror=alert(1)> **x** [l](http://e) \\"


def columns_of(line: str) -> int:
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1


def test_a_pipe_table_with_its_unit() -> None:
    [table] = tabulate([made(1e-6, "a", "x", spread=0), made(2e-6, "b", "x", spread=0)])
    assert render_markdown(table) == (
        "### L\n\n|  | x |\n| :--- | ---: |\n| a | 1.0 |\n| b | 2.0 |\n\nTimes are in microseconds (us).\n"
    )


def test_blocks_and_envs() -> None:
    measurements = [made(1e-6, env=env, num_threads=n) for env in ("e", None) for n in (1, 4)]
    [table] = tabulate(measurements)
    text = render_markdown(table)
    assert "**1 thread**" in text
    assert "**4 threads**" in text
    assert "| env |  | c |" in text


def test_the_best_is_bold() -> None:
    [table] = tabulate([made(1e-6, "a"), made(3e-6, "b")], TableRequest(colorize=Colorize.COLUMNWISE))
    assert len(re.findall(r"\*\*[\d.]+\*\*", render_markdown(table))) == 1


def test_hostile_text_stays_in_its_cell() -> None:
    [table] = tabulate([made(1e-6, HOSTILE, HOSTILE, label=HOSTILE, env=e) for e in (HOSTILE, "f")])
    text = render_markdown(table)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {columns_of(row) for row in rows} == {3}
    assert "<img" not in text
    assert "[l]" not in text
    assert "http://" not in text
    assert sum(line.startswith("#") for line in text.splitlines()) == 1
