"""Other programs: what they print is text whatever its bytes, they read nothing, and they end."""

from __future__ import annotations

import os
import sys

import pytest

from photometer.programs import run_program


def python(code: str, seconds: float = 60.0, **variables: str) -> tuple[int, str, str]:
    done = run_program([sys.executable, "-c", code], seconds, {**os.environ, **variables})
    return done.returncode, done.stdout, done.stderr


def test_status_and_both_outputs_are_kept() -> None:
    code = "import os, sys; print(os.environ['GIVEN']); print('bad', file=sys.stderr); sys.exit(3)"
    assert python(code, GIVEN="good") == (3, "good\n", "bad\n")


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert python("import sys; sys.stdout.buffer.write(b'a\\xffb')") == (0, "a\ufffdb", "")


def test_a_program_that_reads_gets_the_end_of_its_input() -> None:
    assert python("import sys; print(repr(sys.stdin.read()))") == (0, "''\n", "")


def test_a_program_that_does_not_start_or_end_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        run_program(["/nowhere/program"], 60.0)
    with pytest.raises(OSError, match=r"did not finish within 0\.1 s"):
        python("import time; time.sleep(600)", seconds=0.1)
