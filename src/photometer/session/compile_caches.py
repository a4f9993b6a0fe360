"""CompileCaches: folders for torch.compile's caches: one per benchmark, private, short-lived.

What one benchmark compiles must not be a cache hit of another one, or of a later run. But Inductor also finds out what
processor and compiler can do, once per cache (nine small compilations), which must not count as a benchmark's time: a
first cache is filled with that, and every benchmark starts with a copy of it.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from photometer.session.left_behind import make_folder

# Left by the function that fills the first cache; must not be in a benchmark's cache.
_NOT_COPIED = ("fxgraph", "aotautograd")

Fill = Callable[[Path], object]


class CompileCaches:
    """`of` may be called from any thread. `close` removes all folders."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._filling = threading.Lock()
        self._root: Path | None = None

    def of(self, key: str, device: str, fill: Fill) -> Path:
        """Return the folder of a benchmark: its own from before, or a copy of the first cache, filled by `fill`."""
        root = self._made()
        folder = root / key
        with self._filling:
            first = root / f"first-{device.split(':')[0] or 'cpu'}"
            if not first.exists():
                first.mkdir()
                try:
                    fill(first)
                except BaseException:
                    shutil.rmtree(first, ignore_errors=True)
                    raise
        if not folder.exists():
            shutil.copytree(first, folder, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        return folder

    def forget(self, key: str) -> None:
        """Remove what a benchmark has compiled, so that it starts afresh."""
        if self._root is not None:
            shutil.rmtree(self._root / key, ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            root, self._root = self._root, None
        if root is not None:
            shutil.rmtree(root, ignore_errors=True)

    def _made(self) -> Path:
        with self._lock:
            if self._root is None:
                self._root = make_folder("compile")
            return self._root
