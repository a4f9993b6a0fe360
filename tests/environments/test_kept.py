"""Kept environments: made once, never seen half, not removed under anyone's feet, and not without bound."""

from __future__ import annotations

import errno
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from photometer.environments.command import CommandStopped, stop_commands
from photometer.environments.kept import KeptEnvironments, drop_unshared, key_of, recorded_files, share_files
from photometer.errors import CacheError

A, B, C = key_of("a"), key_of("b"), key_of("c")


@pytest.fixture
def kept(tmp_path: Path) -> KeptEnvironments:
    return KeptEnvironments(tmp_path / "environments")


def filled(size: int = 5000) -> object:
    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "file").write_bytes(b"x" * size)

    return make


def make_one(kept: KeptEnvironments, key: str, size: int = 5000) -> None:
    with kept.use(key, f"title of {key}", filled(size), [("Python", "3.12.1")]):  # type: ignore[arg-type]
        pass


def test_it_is_made_once(kept: KeptEnvironments) -> None:
    calls = []

    def make(folder: Path) -> None:
        calls.append(folder)
        folder.mkdir()

    for _ in range(2):
        with kept.use(A, "one", make) as folder:
            assert folder == kept.folder / A
    assert calls == [kept.folder / A]
    (found,) = kept.present()
    assert (found.key, found.title, found.in_use) == (A, "one", False)


def test_a_full_disk_is_named_and_leaves_nothing(kept: KeptEnvironments) -> None:
    def make(folder: Path) -> None:
        folder.mkdir()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(CacheError, match=f"no space left for the cache folder {kept.folder}"), kept.use(A, "one", make):
        pass
    assert not (kept.folder / A).exists()
    assert kept.present() == []


def test_threads_that_want_the_same_wait_for_one_maker(kept: KeptEnvironments) -> None:
    calls = []
    slow = threading.Event()

    def make(folder: Path) -> None:
        calls.append(folder)
        slow.wait(0.2)
        folder.mkdir()

    def use() -> None:
        with kept.use(A, "one", make):
            pass

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_half_an_environment_is_none(kept: KeptEnvironments, error: type[BaseException]) -> None:
    def make(folder: Path) -> None:
        folder.mkdir()
        raise error

    with pytest.raises(error), kept.use(A, "one", make):
        pass
    assert not (kept.folder / A).exists()
    assert kept.present() == []


def test_what_a_killed_process_left_is_made_anew(kept: KeptEnvironments) -> None:
    (kept.folder / A).mkdir()
    (kept.folder / A / "half").write_text("")
    (kept.folder / B).mkdir()
    make_one(kept, A)
    assert not (kept.folder / A / "half").exists()
    kept.clear()
    assert not (kept.folder / B).exists()


def test_what_is_in_use_stays(kept: KeptEnvironments) -> None:
    make_one(kept, B)
    with kept.use(A, "one", filled()) as folder:  # type: ignore[arg-type]
        assert [each.in_use for each in kept.present()] == [True, False]
        gone, stayed = kept.clear()
        assert [each.key for each in gone] == [B]
        assert [each.key for each in stayed] == [A]
        assert (folder / "file").exists()
    assert kept.remove(A)
    assert kept.present() == []


def test_the_least_recently_used_go(tmp_path: Path) -> None:
    kept = KeptEnvironments(tmp_path / "environments", most_bytes=250_000)
    for age, key in ((300, A), (200, B)):
        make_one(kept, key, 100_000)
        os.utime(kept.folder / f"{key}.json", (1e9 - age, 1e9 - age))
    # A is used again, which makes B the oldest.
    make_one(kept, A)
    make_one(kept, C, 100_000)
    assert {each.key for each in kept.present()} == {A, C}


def test_records_that_are_damaged_hide_nothing(kept: KeptEnvironments) -> None:
    make_one(kept, A)
    (kept.folder / f"{A}.json").write_text("[1]")
    assert [each.title for each in kept.present()] == [""]


def installed(folder: Path, name: str, content: bytes) -> Path:
    """A package with one library, as an installer leaves it."""
    import base64
    import hashlib

    site = folder / "lib" / "python3.12" / "site-packages"
    info = site / f"{name}.dist-info"
    info.mkdir(parents=True)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    lines = []
    for file in (f"{name}.so", f"{name}.py"):
        (site / file).write_bytes(content)
        lines.append(f"{file},sha256={digest},{len(content)}\n")
    (info / "RECORD").write_text("".join(lines) + "missing.so,sha256=!,99999\nshort,,\n")
    return site / f"{name}.so"


def test_equal_files_are_linked_and_sources_are_not(tmp_path: Path) -> None:
    content = b"library" * 10_000
    one, two = (installed(tmp_path / name, "package", content) for name in ("one", "two"))
    store = tmp_path / "files"
    assert share_files(tmp_path / "one", store) == 0
    assert share_files(tmp_path / "two", store) == len(content)
    assert one.stat().st_ino == two.stat().st_ino
    assert two.read_bytes() == content
    # Byte code names the date of its source, which a link would change.
    assert one.with_suffix(".py").stat().st_ino != two.with_suffix(".py").stat().st_ino
    assert [file.name for file, _ in recorded_files(tmp_path / "one")] == ["package.so"]


def test_the_store_forgets_what_nobody_has(tmp_path: Path) -> None:
    library = installed(tmp_path / "one", "package", b"library" * 10_000)
    share_files(tmp_path / "one", tmp_path / "files")
    drop_unshared(tmp_path / "files")
    assert len(list((tmp_path / "files").iterdir())) == 1
    library.unlink()
    drop_unshared(tmp_path / "files")
    assert list((tmp_path / "files").iterdir()) == []


def test_waiting_for_another_maker_can_be_stopped(tmp_path: Path) -> None:
    kept = KeptEnvironments(tmp_path)
    making, may_end = threading.Event(), threading.Event()

    def make(folder: Path) -> None:
        folder.mkdir()
        making.set()
        assert may_end.wait(60)

    def use() -> None:
        with kept.use(key_of("one"), "one", make):
            pass

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(use)
        assert making.wait(60)
        second = threads.submit(use)
        try:
            while not second.done():
                # Until it waits, there is nothing to stop.
                stop_commands()
                time.sleep(0.02)
            with pytest.raises(CommandStopped):
                second.result()
        finally:
            may_end.set()
        first.result()
