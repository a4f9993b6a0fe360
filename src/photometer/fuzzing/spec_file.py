"""Loads a fuzzer from a Python file, which is run like a suite's file and must assign FUZZER.

In come a path and perhaps a seed; out comes the fuzzer. The line that rebuilds one of its inputs loads the file again.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path

from photometer.errors import DefinitionError
from photometer.fuzzing.fuzzer import Fuzzer

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
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(str(path))
    except DefinitionError:
        raise
    except Exception as error:
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
        trace = "".join([*traceback.format_list(own), *traceback.format_exception_only(type(error), error)])
        raise DefinitionError(
            f"{path} raised while it was loaded: {type(error).__name__}: {error}", log=trace, remedy="Correct the file."
        ) from error
    finally:
        sys.path.remove(folder)
