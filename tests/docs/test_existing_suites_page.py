"""Commands of docs/existing-suites.md, on the files that the page's own Python writes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guards.sources import ROOT
from tests.guards.test_documentation import blocks, environment

PAGE = ROOT / "docs" / "existing-suites.md"


@pytest.mark.slow
def test_the_commands_of_the_page_run_on_its_files(tmp_path: Path) -> None:
    code = "\n".join(text for _, text in blocks(PAGE, "python"))
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    commands = re.findall(r"^\$ (photometer .*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 2
    for command in [*commands, "photometer list operator_benchmark:pt triton:bench.py"]:
        done = subprocess.run(
            shlex.split(command), cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
