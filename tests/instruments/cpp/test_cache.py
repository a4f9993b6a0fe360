"""The cache folder: found again, private, bounded, safe between processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from photometer.errors import CacheError
from photometer.instruments.cpp.cache import GRACE_SECONDS, SnippetCache, default_cache_folder

KEYS = [f"{i:032x}" for i in range(6)]


def put(cache: SnippetCache, *keys: str, size: int = 10, headers: tuple[Path, ...] = ()) -> None:
    with cache.scratch() as scratch:
        library = scratch / "snippets.so"
        library.write_bytes(b"x" * size)
        cache.publish(library, dict.fromkeys(keys, headers))


def age(cache: SnippetCache, key: str, seconds: float) -> None:
    used = time.time() - seconds
    os.utime(cache.folder / f"{key}.so", (used, used))


@pytest.fixture
def cache(tmp_path: Path) -> SnippetCache:
    return SnippetCache(tmp_path / "cpp", most_bytes=100)


def test_what_was_published_is_found_and_nothing_else(cache: SnippetCache) -> None:
    put(cache, KEYS[0], KEYS[1])
    found = cache.find(KEYS[0])
    assert found is not None
    assert found.read_bytes() == b"x" * 10
    assert cache.find(KEYS[2]) is None


def test_snippets_of_one_library_take_its_room_once(cache: SnippetCache) -> None:
    put(cache, KEYS[0], KEYS[1], KEYS[2])
    put(cache, KEYS[3], size=5)
    usage = cache.usage()
    assert (usage.snippets, usage.libraries, usage.size_bytes) == (4, 2, 15)


def test_without_hard_links_copies_do(cache: SnippetCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    put(cache, KEYS[0], KEYS[1])
    assert cache.find(KEYS[1]) is not None


def test_a_changed_header_makes_the_library_stale(cache: SnippetCache, tmp_path: Path) -> None:
    header = tmp_path / "mine.h"
    header.write_text("1")
    put(cache, KEYS[0], headers=(header,))
    assert cache.find(KEYS[0]) is not None
    header.write_text("22")
    assert cache.find(KEYS[0]) is None
    header.unlink()
    assert cache.find(KEYS[0]) is None


def test_the_least_recently_used_go_first(cache: SnippetCache) -> None:
    for i in range(4):
        put(cache, KEYS[i], size=40)
        age(cache, KEYS[i], GRACE_SECONDS * (10 - i))
    assert cache.find(KEYS[0]) is not None  # used now
    assert cache.trim() == 2
    assert [cache.find(key) is not None for key in KEYS[:4]] == [True, False, False, True]


def test_what_was_just_used_is_spared_even_above_the_bound(cache: SnippetCache) -> None:
    for key in KEYS:
        put(cache, key, size=60)
    assert cache.trim() == 0
    assert cache.usage().libraries == len(KEYS)


def test_a_trimmed_library_takes_all_its_names_along(cache: SnippetCache) -> None:
    put(cache, KEYS[0], KEYS[1], size=200)
    age(cache, KEYS[0], GRACE_SECONDS * 2)
    assert cache.trim() == 1
    assert cache.usage().snippets == 0
    assert list(cache.folder.glob("*.headers.json")) == []


def test_folders_of_killed_builds_are_swept_and_running_ones_are_not(cache: SnippetCache) -> None:
    killed = subprocess.Popen(["sleep", "60"])
    dead, alive = cache.folder / f"build-{killed.pid}-1", cache.folder / f"build-{os.getpid()}-2"
    killed.kill()
    killed.wait()
    dead.mkdir()
    alive.mkdir()
    with cache.lock():
        cache.trim()
    assert (dead.exists(), alive.exists()) == (False, True)


def test_clear_empties_and_says_what_was_there(cache: SnippetCache) -> None:
    put(cache, KEYS[0], KEYS[1])
    assert cache.clear().snippets == 2
    assert cache.usage().snippets == 0
    assert [entry.name for entry in cache.folder.iterdir()] == ["lock"]


def test_the_folder_is_private(cache: SnippetCache) -> None:
    assert cache.folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_others_may_write_to_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(CacheError, match=r"others may write(.|\n)*chmod 700"):
        SnippetCache(folder)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(CacheError, match=r"belongs to another user(.|\n)*PHOTOMETER_CACHE"):
        SnippetCache(tmp_path / "cpp")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match=r"cannot be created(.|\n)*PHOTOMETER_CACHE"):
        SnippetCache(tmp_path / "file" / "cpp")


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "mine"))
    assert default_cache_folder() == tmp_path / "mine" / "cpp"
    monkeypatch.delenv("PHOTOMETER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_folder() == tmp_path / "xdg" / "photometer" / "cpp"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / ".cache" / "photometer" / "cpp"


def test_builders_take_turns(cache: SnippetCache, tmp_path: Path) -> None:
    """Four processes each read, wait and write a number under the lock: without it, additions would be lost."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    script = (
        "import sys, time; from pathlib import Path\n"
        "from photometer.instruments.cpp.cache import SnippetCache\n"
        "cache, counter = SnippetCache(Path(sys.argv[1])), Path(sys.argv[2])\n"
        "for _ in range(5):\n"
        "    with cache.lock():\n"
        "        seen = int(counter.read_text()); time.sleep(0.005); counter.write_text(str(seen + 1))\n"
    )
    command = [sys.executable, "-c", script, str(cache.folder), str(counter)]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert counter.read_text() == "20"
