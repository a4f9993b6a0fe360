"""docs/ray.md: commands that need a cluster of one's own are at least commands that photometer understands.

What runs on a laptop is run by tests/journeys/test_ray.py, and what joins a cluster by
tests/journeys/test_ray_client.py.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from photometer.cli import build_app

PAGE = Path(__file__).parents[2] / "docs" / "ray.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("photometer ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_understood(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command: Any = typer.main.get_command(build_app())
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    # Parses all options and arguments, and runs nothing.
    parsed = command.make_context(command.name, list(words))
    if "--on" in words:
        assert parsed.params["on"] == words[words.index("--on") + 1]


def test_there_is_a_start_for_each_place() -> None:
    assert len(BLOCKS) == 4
    assert len([line for line in COMMANDS if "--on" in line]) >= 5
