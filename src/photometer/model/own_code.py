"""The user's own code: the folders that a benchmark's process can import from, and how an author's file is run.

`python -m` has the working directory on its path; so have photometer's commands, and for a suite's file also the root
of its git checkout and `src` there. A server imports torch first and gets the folders then, after the standard library
and before installed packages: no file of the user's takes the place of one that torch needs. The file of a suite or of
a fuzzer is run as pytest would run it: errors name its file and line, and its output goes to standard error, because
standard output is photometer's own. It cannot read standard input, because commands may run without a user.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import site
import sys
import sysconfig
import tokenize
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from photometer.errors import DefinitionError

HOW_TO_ADD = "Start photometer in the folder that the module is in, or add its folder: PYTHONPATH=DIR photometer …"


def importable_here() -> tuple[str, ...]:
    """Return the folders that this process imports from, without those of its interpreter."""
    own = [os.path.abspath(entry) for entry in sys.path if not entry.endswith(".zip")]  # noqa: PTH100
    installed = tuple(_installed())
    return tuple(dict.fromkeys(entry for entry in own if not _is_below(entry, installed)))


def own_folders(suites: Iterable[str | Path] = ()) -> tuple[str, ...]:
    """Return the working directory and, for a suite's file, its own folder, its git root and `src` there."""
    folders: list[Path] = []
    with contextlib.suppress(OSError):  # it was removed
        folders.append(Path.cwd())
    for suite in suites:
        file = _file_of(str(suite))
        if file is not None:
            folders += _of_file(file.resolve())
    return tuple(dict.fromkeys(str(folder) for folder in folders))


def _file_of(suite: str) -> Path | None:
    """Return the file of a suite; for another tool's suite, such as `asv:benchmarks`, perhaps a folder."""
    place, colon, _ = suite.rpartition(":")
    file = Path(place if colon and place.endswith(".py") else suite)
    if file.suffix == ".py" and file.is_file():
        return file
    _, colon, place = suite.partition(":")
    return Path(place) if colon and place and Path(place).exists() else None


def _of_file(file: Path) -> Iterator[Path]:
    yield file.parent
    root = git_root(file.parent)
    if root is not None:
        yield root
        if (root / "src").is_dir():
            yield root / "src"


def searched_folders() -> str:
    """Return the folders in which this process looks for a module, in words."""
    return "searched in: " + ", ".join(entry or "." for entry in sys.path if not entry.endswith(".zip"))


def git_root(folder: Path) -> Path | None:
    """Return the top of the git checkout that a folder is in. A worktree has a file of that name there."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _installed() -> Iterator[str]:
    """Yield the folders of the interpreter itself: standard library, installed packages, programs."""
    yield from (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts"))
    yield from site.getsitepackages()
    yield site.getusersitepackages()
    # Debian has packages beside those that Python's own scheme names.
    yield os.path.join(sys.base_prefix, "lib", "python3", "dist-packages")  # noqa: PTH118


def _is_below(entry: str, folders: tuple[str, ...]) -> bool:
    return any(entry == folder or entry.startswith(folder + os.sep) for folder in folders)


_OWN_FOLDERS = tuple(str(Path(__file__).parents[1] / name) for name in ("definition", "fuzzing", "model"))
_MACHINERY = ("<frozen ", contextlib.__file__, runpy.__file__, *_OWN_FOLDERS)


class _ReadsInput(OSError):
    """The author's code reads standard input. An OSError, so that code that handles a failed read goes on."""


class _NoInput(io.TextIOBase):
    """Replaces standard input while the author's code runs."""

    @property
    def buffer(self) -> NoReturn:
        raise _ReadsInput

    def read(self, size: int | None = -1, /) -> NoReturn:
        raise _ReadsInput

    def readline(self, size: int | None = -1, /) -> NoReturn:
        raise _ReadsInput


@contextlib.contextmanager
def running_author_code(shown: str, *, what: str = "suite", beside: Path | None = None) -> Iterator[None]:
    """Run the author's code with the folder `beside` importable; an error is shown with the author's own lines.

    `what` names the code in the error. No bytecode is written: the file may be in a working tree of the user.
    """
    wrote_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    stdin, sys.stdin = sys.stdin, _NoInput()
    if beside is not None:
        sys.path.insert(0, str(beside))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (DefinitionError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise _definition_error(shown, what, error) from error
    finally:
        sys.dont_write_bytecode = wrote_bytecode
        sys.stdin = stdin
        if beside is not None and str(beside) in sys.path:
            sys.path.remove(str(beside))


def _definition_error(shown: str, what: str, error: BaseException) -> DefinitionError:
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_MACHINERY)]
    place = shown
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{Path(error.filename).name}:{error.lineno or 1}"
    elif own:
        place = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    trace = "".join(traceback.format_list(own))
    if isinstance(error, _ReadsInput):
        return DefinitionError(
            f"{place}: the {what} reads standard input while it is loaded",
            log=trace,
            remedy="Read from a file, or from an environment variable.",
        )
    # Not str(): an exception of the author's may fail to say what it is. A SyntaxError's last line is its message.
    said = traceback.format_exception_only(type(error), error)
    if isinstance(error, SystemExit):
        return DefinitionError(
            f"{place}: the {what} ends the program while it is loaded ({said[-1].strip()})",
            log=trace,
            remedy='Remove the exit, or put it below `if __name__ == "__main__":`.',
        )
    is_missing = isinstance(error, ModuleNotFoundError)
    return DefinitionError(
        f"{place}: raised while the {what} was loaded: {said[-1].strip()}",
        log=trace + "".join(said) + (searched_folders() if is_missing else ""),
        remedy=HOW_TO_ADD if is_missing else f"Correct the {what}.",
    )


def source_text(path: Path) -> str:
    """Return the text of a Python file; one that Python cannot read is an error with the line."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DefinitionError(
            f"{path}: cannot be read: {error.strerror or error}", remedy="Check the file and its permissions."
        ) from error
    encoding = "utf-8"
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise DefinitionError(
            f"{path.name}:{_first_bad_line(content, encoding)}: is not {encoding.upper()} text",
            remedy="Save it as UTF-8, or name its encoding in the first line: # -*- coding: latin-1 -*-",
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DefinitionError(f"{path.name}:{line}: holds a NUL character", remedy="Give a Python file.")
    return text


def _first_bad_line(content: bytes, encoding: str) -> int:
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    # The declaration itself is wrong: it stands in the first or second line.
    return 1
