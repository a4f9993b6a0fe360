from __future__ import annotations

from pathlib import Path

import pytest

from photometer.session.session import COMPILING, CompileCaches
from tests.session.fake_session import FakeServers


def filled(folder: Path) -> None:
    (folder / "probe.so").write_text("x")
    (folder / "fxgraph").mkdir()
    (folder / "fxgraph" / "graph").write_text("the first function's own")


def test_every_benchmark_begins_with_the_compilers_own_and_nothing_else() -> None:
    caches = CompileCaches()
    try:
        ours, theirs = (caches.of(key, "", filled) for key in ("one", "two"))
        assert ours != theirs
        for folder in (ours, theirs):
            assert (folder / "probe.so").exists()
            assert not (folder / "fxgraph").exists()
        assert ours.parent.stat().st_mode & 0o077 == 0
    finally:
        caches.close()
    assert not ours.parent.exists()


def test_the_first_cache_is_filled_once_per_kind_of_device() -> None:
    caches = CompileCaches()
    made: list[Path] = []
    for key, device in (("a", ""), ("b", ""), ("c", "cuda:0"), ("d", "cuda:1")):
        caches.of(key, device, made.append)
    assert len(made) == 2
    caches.close()


def test_what_was_compiled_is_found_again_until_it_is_forgotten() -> None:
    caches = CompileCaches()
    folder = caches.of("a", "", filled)
    (folder / "fxgraph").mkdir()
    assert (caches.of("a", "", filled) / "fxgraph").exists()
    caches.forget("a")
    assert not (caches.of("a", "", filled) / "fxgraph").exists()
    caches.close()


def test_a_first_cache_that_cannot_be_filled_is_tried_again() -> None:
    caches = CompileCaches()

    def fail(folder: Path) -> None:
        raise RuntimeError("no compiler")

    with pytest.raises(RuntimeError):
        caches.of("a", "", fail)
    assert (caches.of("a", "", filled) / "probe.so").exists()
    caches.close()


def test_servers_that_compile_import_the_compiler_first() -> None:
    servers = FakeServers()
    with servers.session() as session:
        with session.child(COMPILING), session.child():
            pass
        compiling, plain = (server.launch.imports for server in servers.made)
    assert "import torch._inductor.compile_fx" in compiling
    assert plain == ()
