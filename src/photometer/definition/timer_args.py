"""TimerArgs: one concrete thing to run, with the arguments of `Timer`.

An author writes one for a case that no group fits; the plan makes one for every variant of a group.
"""

from __future__ import annotations

import dataclasses
import textwrap
from typing import ClassVar

from photometer.definition.place import definition_error
from photometer.definition.python_names import check_python_syntax
from photometer.model.task import Language


@dataclasses.dataclass(frozen=True)
class TimerArgs:
    """A statement, its set-up, and the number of threads it may use."""

    ALWAYS: ClassVar[tuple[str, ...]] = ("setup", "global_setup", "num_threads", "language")

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    num_threads: int = 1
    language: Language = Language.PYTHON
    # The plan makes thousands of these from text that has been checked already.
    check: dataclasses.InitVar[bool] = True

    def __post_init__(self, check: bool) -> None:
        if check:
            self._clean_and_check()

    def _clean_and_check(self) -> None:
        language = Language.parse(self.language)
        object.__setattr__(self, "language", language)
        if language is Language.CPP and self.setup == "pass":
            object.__setattr__(self, "setup", "")
        for name in ("stmt", "setup", "global_setup"):
            object.__setattr__(self, name, clean_code(getattr(self, name), name))
        if not self.stmt.strip():
            raise definition_error("TimerArgs has an empty stmt", remedy="Give the statement to measure.")
        check_thread_count(self.num_threads)
        if language is Language.PYTHON:
            if self.global_setup:
                raise definition_error(
                    "TimerArgs has a global_setup for a Python statement",
                    shown=self.global_setup,
                    remedy="global_setup is C++ at file scope; put Python into setup.",
                )
            check_python_syntax(self.setup, "setup")
            check_python_syntax(self.stmt, "stmt")


def clean_code(code: object, name: str) -> str:
    """Return the code without the indentation of the surrounding file and the empty lines at its ends."""
    if not isinstance(code, str):
        raise definition_error(f"{name} is {code!r}, not text", remedy="Give the code as a string.")
    return textwrap.dedent(code).strip("\n").rstrip()


def check_thread_count(count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise definition_error(
            f"num_threads is {count!r}", remedy="Give a whole number of threads from 1 up, or a tuple of them."
        )
