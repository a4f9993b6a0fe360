"""bundle.zip: everything that a pull request about speed should carry, in one archive.

In: names and the files or texts that go under them. Out: the archive, written whole or not at all. The same content
gives the same bytes: entries are sorted and carry no date.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from photometer.errors import ResultsFileError

BUNDLE_NAME = "bundle.zip"
# The earliest date a ZIP archive can hold.
_NO_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16


def write_bundle(path: Path, members: Mapping[str, Path | str]) -> Path:
    """An archive of these members: a Path is a file that is put in, a str is the text itself."""
    for name in members:
        _check_name(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".bundle-", suffix=".zip")
        try:
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in sorted(members.items()):
                    entry = zipfile.ZipInfo(name, _NO_DATE)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    entry.external_attr = _MODE
                    archive.writestr(entry, content if isinstance(content, str) else content.read_bytes())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ResultsFileError(
            f"{path}: cannot be written: {error.strerror or error}", remedy="Name another folder."
        ) from error
    return path


def _check_name(name: str) -> None:
    """Nothing that unpacks outside the folder it is unpacked in."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in name:
        raise ResultsFileError(f"{name!r} cannot be a name in an archive", remedy="Give a relative path.")
