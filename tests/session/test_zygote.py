"""What is done before the first zygote starts."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from photometer.session.zygote import compile_worker


def test_workers_find_bytecode_that_is_current(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    bytecode = Path(importlib.util.cache_from_source(str(file)))
    for changed_at, text in enumerate(("value = 1\n", "value = 'longer'\n"), 1_000_000_000):
        file.write_text(text)
        os.utime(file, (changed_at, changed_at))
        compile_worker.cache_clear()
        compile_worker(tmp_path)
        # Behind the magic number, the flags and the time: the size of the source.
        assert int.from_bytes(bytecode.read_bytes()[12:16], "little") == len(text)


def test_a_folder_that_cannot_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("value = 1\n")
    (tmp_path / "__pycache__").write_text("not a folder")
    compile_worker.cache_clear()
    compile_worker(tmp_path)
    assert (tmp_path / "__pycache__").read_text() == "not a folder"
