"""The real thing: a commit that makes a tensor contiguous is explained by the function, file and line that does it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from tests.photometer_command import photometer
from tests.repositories import make_repository

MODEL = """
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)

    def gate(self, x):
        return torch.sigmoid(self.second(x)).t(){work}

    def forward(self, x):
        return self.first(x) * self.gate(x)
"""
SUITE = """
from photometer import GroupedSetup, GroupedStmts

SETUP = GroupedSetup("from tinynet.model import Block\\nblock = Block()\\nx = torch.ones(8, 8)")
BENCHMARKS = {
    "block": GroupedStmts("y = block(x)", setup=SETUP, signature="f(block, x) -> y"),
    "add": GroupedStmts("y = x + x", setup=SETUP, signature="f(x) -> y"),
}
"""


@pytest.mark.nightly
@pytest.mark.valgrind
def test_the_function_the_line_and_the_same_figure_in_text_and_graph(tmp_path: Path) -> None:
    folder, out = tmp_path / "repository", tmp_path / "out"
    module = "tinynet/model.py"
    make_repository(
        folder,
        {"suite.py": SUITE, "tinynet/__init__.py": "", module: MODEL.format(work="")},
        {module: MODEL.format(work=".contiguous()")},
    )
    sides = ("git:HEAD~1", "git:HEAD", "--suite", "suite.py")
    done = photometer("compare", *sides, "--layouts", "1", "--budget", "10", "-o", out, cwd=folder)
    text = " ".join(done.stdout.split())
    found = re.search(
        r"\+([\d,]+) instructions per run .*?; new under Block.gate \(tinynet/model\.py:12\): contiguous", text
    )
    assert found is not None, done.stdout + done.stderr
    assert "identical" in text
    (gate,) = re.findall(r"tinynet/model\.py:12\): contiguous \(\+([\d,]+)\)", text)

    graph = html.unescape((out / "flame-graphs" / "changed-instructions-block.svg").read_text())
    whole, part = (
        re.search(rf"<title>{re.escape(name)}\n[^<]*: \+([\d,]+) instructions", graph)
        for name in ("y = block(x)", "Block.gate (tinynet/model.py)")
    )
    assert whole is not None
    assert part is not None
    assert (whole[1], part[1]) == (found[1], gate)

    records = json.loads((out / "comparison.json").read_text())["records"]
    (change,) = [r["instructions"] for r in records if r["kind"] == "comparison" and r["title"].startswith("block")]
    assert change["code"][0]["file"] == "tinynet/model.py"
    assert change["code"][0]["more"] == ["contiguous"]
