from __future__ import annotations

from pathlib import Path

import pytest

from tests.photometer_command import photometer

pytestmark = pytest.mark.warm

SUITE = """
from photometer.definition import GroupedSetup, GroupedStmts

def group(py, cpp, **more):
    setup = GroupedSetup("x = torch.arange(4.0)", "auto x = torch::arange(4.0);")
    return GroupedStmts(py, cpp, setup, signature="f(x) -> y", **more)

BENCHMARKS = {
    "agree": group("y = x + 1", "auto y = x + 1;", torchscript=True),
    "large": group("y = x.expand(30_000, 4) * 2", "auto y = x.expand({30000, 4}) * 2;"),
    "differ": group("y = x + 1", "auto y = x + 2;"),
    "fails": group("y = x + torch.ones(3)", "auto y = x + 1;"),
}
"""


@pytest.mark.slow
@pytest.mark.compiler
def test_results_of_the_variants_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "my_suite.py"
    path.write_text(SUITE)
    done = photometer("check", path, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "differ: y differs between differ [python] and differ [c++]: element 0 is 1 and 2" in done.stdout
    assert "fails: fails [python]: failed: RuntimeError" in done.stdout
    assert "agree:" not in done.stdout
    assert "large:" not in done.stdout
    assert "10 variants of 4 benchmarks ran once; results of 3 were compared; 2 have problems." in done.stdout
