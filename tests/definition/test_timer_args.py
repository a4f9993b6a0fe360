"""TimerArgs is checked when it is written."""

from __future__ import annotations

import pytest

from photometer.definition import TimerArgs
from photometer.errors import DefinitionError
from photometer.model.records import from_record, to_record
from photometer.model.task import Language


def test_code_loses_the_indentation_of_the_file() -> None:
    args = TimerArgs(
        """
        for _ in range(2):
            x + 1
        """,
        "\n    x = 1\n",
    )
    assert args.stmt == "for _ in range(2):\n    x + 1"
    assert args.setup == "x = 1"


@pytest.mark.parametrize("language", ["c++", "cpp", Language.CPP])
def test_cpp_in_all_spellings_has_no_pass(language: object) -> None:
    args = TimerArgs("x + 1;", language=language)  # type: ignore[arg-type]
    assert args.language is Language.CPP
    assert args.setup == ""


def test_json_round_trip() -> None:
    args = TimerArgs("x + 1;", "auto x = 1;", "#include <cmath>", 2, Language.CPP)
    assert from_record(TimerArgs, to_record(args)) == args


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stmt": "x +"}, "stmt is not Python"),
        ({"stmt": "x", "setup": "def f(:"}, "setup is not Python"),
        ({"stmt": "return 1"}, "outside function"),
        ({"stmt": "  \n "}, "empty stmt"),
        ({"stmt": None}, "not text"),
        ({"stmt": "x", "num_threads": 0}, "num_threads"),
        ({"stmt": "x", "num_threads": True}, "num_threads"),
        ({"stmt": "x", "language": "fortran"}, "fortran"),
        ({"stmt": "x", "global_setup": "#include <cmath>"}, "global_setup"),
    ],
)
def test_mistakes(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        TimerArgs(**arguments)  # type: ignore[arg-type]
