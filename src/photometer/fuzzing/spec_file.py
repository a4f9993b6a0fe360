"""Loads a fuzzer from a Python file, which is run like a suite's file and must assign FUZZER.

In come a path and perhaps a seed; out comes the fuzzer. The line that rebuilds one of its inputs loads the file again.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from photometer.errors import DefinitionError
from photometer.fuzzing.fuzzer import Fuzzer
from photometer.model.own_code import running_author_code, source_text

VARIABLE = "FUZZER"


def load_fuzzer(path: str | Path, seed: int | None = None) -> Fuzzer:
    """Return the FUZZER of a file, with another seed if one is given."""
    path = Path(path)
    if not path.is_file():
        raise DefinitionError(f"There is no file {path}.", remedy=f"Name a Python file that assigns {VARIABLE}.")
    fuzzer = _run(path).get(VARIABLE)
    if not isinstance(fuzzer, Fuzzer):
        found = "does not assign it" if fuzzer is None else f"makes it a {type(fuzzer).__name__}"
        raise DefinitionError(
            f"{path} should assign a Fuzzer to {VARIABLE}; it {found}.",
            remedy=f"Write {VARIABLE} = photometer.fuzzing.Fuzzer(parameters=[...], tensors=[...]).",
        )
    return fuzzer if seed is None else fuzzer.with_seed(seed)


def rebuild_line(path: str | Path, seed: int, index: int) -> str:
    """Return one line of Python that makes an input of the file's fuzzer again."""
    return (
        "from photometer.fuzzing.spec_file import load_fuzzer; "
        f"tensors, properties, params = load_fuzzer({str(path)!r}, seed={seed}).at({index})"
    )


def _run(path: Path) -> dict[str, object]:
    """Run the file, with its folder importable, and return its names. An error is shown with the file's own lines."""
    source_text(path)
    with running_author_code(str(path), what="fuzzer", beside=path.resolve().parent):
        return runpy.run_path(str(path))
