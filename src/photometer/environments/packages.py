"""PackageRequest: what `pip:…` asks for: requirements, files of them, and where to look for packages.

The words are those of `pip install`, so that what works there can be typed here; they are written into one requirements
file, which uv and pip both read. Options that would install elsewhere or run code of ours are refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shlex
from pathlib import Path

from photometer.errors import EnvironmentSpecError

_FILES = {"-r": "-r", "--requirement": "-r", "-c": "-c", "--constraint": "-c"}
_SOURCES = {
    "-i": "--index-url",
    "--index-url": "--index-url",
    "--extra-index-url": "--extra-index-url",
    "-f": "--find-links",
    "--find-links": "--find-links",
}
NO_INDEX = "--no-index"
_WHEELS_AND_ARCHIVES = (".whl", ".tar.gz", ".zip")
# What stands between a package and its version, perhaps with spaces around it.
_OPERATORS = ("<", ">", "=", "!", "~", ",")
# The name that a requirement begins with; a URL or path has no such beginning.
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?=$|[\[<>=!~;@# ])")
_REMEDY = (
    'Give requirements (pip:torch==2.12.1, pip:"torch numpy<2"), -r FILE, -c FILE, --index-url URL, '
    "--extra-index-url URL, --find-links PLACE, --no-index or --pre."
)


@dataclasses.dataclass(frozen=True)
class PackageRequest:
    """`lines` are those of a requirements file, with absolute paths. `files` are the local files that they name."""

    lines: tuple[str, ...] = ()
    prereleases: bool = False
    files: tuple[Path, ...] = ()

    def __add__(self, other: PackageRequest) -> PackageRequest:
        return PackageRequest(
            (*self.lines, *other.lines), self.prereleases or other.prereleases, (*self.files, *other.files)
        )

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the lines that say where to look for packages."""
        return tuple(line for line in self.lines if line.startswith("--"))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the packages that are named, also in files, in the form in which names are compared."""
        lines = [line for line in self.lines if not line.startswith("-")]
        wanted = {line.removeprefix("-r ") for line in self.lines if line.startswith("-r ")}
        for file in self.files:
            if str(file) in wanted:
                lines += file.read_text(encoding="utf-8", errors="replace").splitlines()
        found = [_name_in(line) for line in lines]
        return tuple(dict.fromkeys(name for name in found if name))

    @property
    def names_torch(self) -> bool:
        return "torch" in self.names

    def digest(self) -> str:
        """Return the identity of this request, with the content of its files."""
        contents = [(str(file), hashlib.sha256(file.read_bytes()).hexdigest()) for file in self.files]
        return hashlib.sha256(repr((self.lines, self.prereleases, contents)).encode()).hexdigest()


def normal_name(name: str) -> str:
    """Return a package's name in the form in which names are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _name_in(line: str) -> str:
    """Return the package that a requirement names, or whose wheel it is; empty if there is none."""
    found = _NAME.match(line)
    if found is not None:
        return normal_name(found.group(1))
    file = line.rpartition("/")[2]
    return normal_name(file.partition("-")[0]) if file.endswith(_WHEELS_AND_ARCHIVES) else ""


def parse_packages(rest: str, part: str, folder: Path) -> PackageRequest:
    """Return the request of the words after `pip:`; relative paths are looked for in `folder`."""
    request = PackageRequest()
    left = iter(_words(rest, part))
    for word in left:
        name, equals, value = word.partition("=")
        if word == "--pre":
            request += PackageRequest(prereleases=True)
        elif word == NO_INDEX:
            request += PackageRequest((word,))
        elif name in _FILES or name in _SOURCES:
            value = value if equals else next(left, "")
            if not value or value.startswith("-"):
                raise EnvironmentSpecError(f"{part!r}: {name} is empty", remedy=_REMEDY)
            request += _named(name, value, part, folder)
        elif word.startswith("-"):
            raise EnvironmentSpecError(f"{part!r}: the option {word} is not supported here", remedy=_REMEDY)
        else:
            request += _requirement(word, part, folder)
    if not any(not line.startswith("-") or line.startswith("-r ") for line in request.lines):
        raise EnvironmentSpecError(f"{part!r} names no package", remedy=_REMEDY)
    return request


def _words(rest: str, part: str) -> list[str]:
    """Return the words; `torch >= 2.4` is one. Quotes around all of them may have come through the shell."""
    try:
        words = shlex.split(rest)
        if len(words) == 1:
            words = shlex.split(words[0])
    except ValueError as error:
        raise EnvironmentSpecError(f"{part!r}: {error}", remedy="Check its quotes.") from error
    joined: list[str] = []
    for word in words:
        if joined and (word.startswith(_OPERATORS) or joined[-1].endswith(_OPERATORS)):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _named(option: str, value: str, part: str, folder: Path) -> PackageRequest:
    _one_line(value, part)
    if option in _SOURCES:
        place = folder / Path(value).expanduser()
        # A folder of wheels is meant as seen from here; everything else is an address.
        shown = str(place.resolve()) if "://" not in value and place.exists() else value
        return PackageRequest((f"{_SOURCES[option]} {shown}",))
    file = (folder / Path(value).expanduser()).resolve()
    if not file.is_file():
        raise EnvironmentSpecError(f"{part!r}: there is no file {value!r}", remedy="Check its path.")
    return PackageRequest((f"{_FILES[option]} {file}",), files=(file,))


def _requirement(word: str, part: str, folder: Path) -> PackageRequest:
    _one_line(word, part)
    place = (folder / Path(word).expanduser()).resolve()
    if word.endswith(_WHEELS_AND_ARCHIVES) and "://" not in word:
        if not place.is_file():
            raise EnvironmentSpecError(f"{part!r}: there is no file {word!r}", remedy="Check its path.")
        return PackageRequest((str(place),), files=(place,))
    if word.startswith((".", "/", "~")) or word.endswith("/"):
        # A folder may change from one day to the next under one name, and what is kept is kept by name and version.
        raise EnvironmentSpecError(
            f"{part!r}: a folder of sources cannot be kept as a package",
            remedy='Give its revision: git:WORKTREE@DIR with --install "pip install .", or a wheel built from it.',
        )
    return PackageRequest((word,))


def _one_line(value: str, part: str) -> None:
    if any(character in value for character in "\n\r\0"):
        raise EnvironmentSpecError(f"{part!r} has a line break", remedy=_REMEDY)
