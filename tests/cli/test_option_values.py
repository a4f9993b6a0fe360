"""Every option that is a number refuses what is none, is endless or is out of range, as a usage error."""

from __future__ import annotations

import inspect
import os
import re
import typing
from pathlib import Path

import pytest
from typer.models import OptionInfo

from photometer.cli import build_app, main
from photometer.cli.option_values import LEFT_OUT, with_values

WORDS = {
    "time": ["1"],
    "run": ["standard"],
    "compare": ["current", "current", "--suite", "standard"],
    "flame": ["1"],
    "fuzz": ["x", "--fuzzer", "unary"],
    "check": ["standard"],
    "ab": ["1", "2"],
    "bisect": ["HEAD", "HEAD", "--suite", "standard"],
    "cache": [],
    "comment": ["nowhere"],
    "doctor": [],
    "compile-report": ["1"],
    "calibrate": ["--suite", "standard"],
}


def options(kind: type) -> list[tuple[str, str]]:
    """The options of this type, as (command, option), from the signatures of the commands."""
    found = []
    for command in build_app().registered_commands:
        assert command.callback is not None
        hints = typing.get_type_hints(command.callback, include_extras=True)
        for parameter in inspect.signature(command.callback).parameters.values():
            hint = hints[parameter.name]
            # Python 3.10 wraps what has None as its default in Optional.
            hint = next((inner for inner in typing.get_args(hint) if hasattr(inner, "__metadata__")), hint)
            marks = [*getattr(hint, "__metadata__", ()), parameter.default]
            plain = hint.__origin__ if hasattr(hint, "__metadata__") else hint
            option = next((mark for mark in marks if isinstance(mark, OptionInfo)), None)
            if option is not None and plain in (kind, kind | None):
                # Inside Annotated, typer takes the first name for the default until it is used.
                names = [str(option.default), *(option.param_decls or ())]
                found.append((str(command.name), next(name for name in names if re.match("--?[a-z]", name))))
    return found


def refused(capsys: pytest.CaptureFixture[str], command: str, option: str, value: str) -> None:
    given = [f"{option}={value}"] if option.startswith("--") else [option, value]
    with pytest.raises(SystemExit) as stopped:
        main([command, *WORDS[command], *given])
    assert stopped.value.code == 2, (command, option, value)
    complaint = capsys.readouterr().err
    assert option in complaint, (command, option, value)
    assert "Traceback" not in complaint


FRACTIONS = options(float)
# Any seed of a fuzzer will do. Seeds of random data begin with 0.
SEEDS = [each for each in options(int) if each[1] == "--seed" and each[0] != "fuzz"]
WHOLE = [each for each in options(int) if each[1] != "--seed"]


def test_there_are_such_options() -> None:
    assert len(FRACTIONS) >= 10
    assert len(WHOLE) >= 7
    assert {command for command, _ in FRACTIONS + WHOLE} == set(WORDS)


BAD_VALUES = (
    (FRACTIONS, ("nan", "inf", "-inf", "-1", "1e300", "-0.0001", "text")),
    (WHOLE, ("0", "-1", "1.5", "nan", "text")),
    (SEEDS, ("-1", "4294967296", "1.5", "nan", "text")),
)


@pytest.mark.parametrize("command", WORDS)
def test_numbers_that_mean_nothing_are_refused(capsys: pytest.CaptureFixture[str], command: str) -> None:
    for known, values in BAD_VALUES:
        for option in [option for owner, option in known if owner == command]:
            for value in values:
                refused(capsys, command, option, value)


def test_what_is_no_regular_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for command in (["show", str(pipe)], ["report", str(pipe)]):
        with pytest.raises(SystemExit) as stopped:
            main(command)
        assert stopped.value.code == 1
        assert f"{pipe}: is a pipe" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["show", "/dev/zero"])
    assert "/dev/zero: is a device" in capsys.readouterr().err


KNOWN = frozenset(("--device", "--json"))


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["--device", "x + 1"], [f"--device={LEFT_OUT}", "x + 1"]),
        (["x + 1", "--device"], ["x + 1", f"--device={LEFT_OUT}"]),
        (["--device", "cuda:1", "x"], ["--device=cuda:1", "x"]),
        (["--device", "mps"], ["--device=mps"]),
        (["--device=anything", "x"], ["--device=anything", "x"]),
        (["--json", "out.json", "x"], ["--json=out.json", "x"]),
        (["--json", "--device", "x.json"], [f"--json={LEFT_OUT}", f"--device={LEFT_OUT}", "x.json"]),
        (["--json", "a = 1; a.json"], [f"--json={LEFT_OUT}", "a = 1; a.json"]),
        (["--", "--device", "cuda"], ["--", "--device", "cuda"]),
        (["--csv", "out.csv"], ["--csv", "out.csv"]),
    ],
)
def test_what_looks_like_a_value_is_one(words: list[str], completed: list[str]) -> None:
    assert with_values(words, KNOWN) == completed
