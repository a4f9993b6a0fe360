"""SystemFiles: the files of /proc and /sys as text, below a root, so that tests can show another machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class SystemFiles:
    root: Path = Path("/")

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str | None:
        """Return the text of a file without the spaces around it, or None if it is missing, unreadable or empty."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace").strip() or None
        except OSError:
            return None

    def number(self, name: str) -> int | None:
        text = self.read(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def field(self, name: str, key: str) -> int | None:
        """Return the number after `key` in a file of lines such as `MemTotal:  16 kB` or `pswpin 3`."""
        for line in (self.read(name) or "").splitlines():
            words = line.replace(":", " ").split()
            if len(words) > 1 and words[0] == key and words[1].isdigit():
                return int(words[1])
        return None

    def cpu_folders(self) -> Iterator[Path]:
        """Yield the folder of each logical processor, by its number."""
        folders = self.path("/sys/devices/system/cpu").glob("cpu[0-9]*")
        yield from sorted((f for f in folders if f.name[3:].isdigit()), key=lambda folder: int(folder.name[3:]))
