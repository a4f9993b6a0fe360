"""Old spellings: each is a usage error that names the new one, and the new one is there."""

from __future__ import annotations

import pytest

from photometer.cli.help_page import FORMER_COMMANDS, FORMER_OPTIONS
from tests.cli.test_options import COMMANDS as PRESENT, options
from tests.photometer_command import status_of


@pytest.mark.parametrize("old", FORMER_COMMANDS)
def test_an_old_command_names_the_new_one(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(*old.split(), "anything") == 2
    assert f"is now `photometer {FORMER_COMMANDS[old]}`" in capsys.readouterr().err
    assert old not in PRESENT
    assert FORMER_COMMANDS[old].partition(" --")[0] in PRESENT


@pytest.mark.parametrize(
    ("command", "old"), [(command, old) for command, each in FORMER_OPTIONS.items() for old in each]
)
def test_an_old_option_names_the_new_one(command: str, old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(*command.split(), old, "anything") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{old} is now {FORMER_OPTIONS[command][old]}" in said
    assert command not in {each for commands in options().get(old, {}).values() for each in commands}


def test_a_word_means_one_thing_on_both_levels() -> None:
    top = {name for name in PRESENT if " " not in name}
    below = {name.partition(" ")[2] for name in PRESENT if " " in name}
    assert not top & below
