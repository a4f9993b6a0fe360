"""Which cluster, and what travels to its nodes; without Ray."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from photometer.errors import DefinitionError, ToolMissing, WorkerStartError
from photometer.remote.cluster import (
    Cluster,
    check_client,
    import_ray,
    parse_address,
    runtime_env,
    shipped_folders,
    unpacked,
)


@pytest.mark.parametrize(
    ("text", "address"), [("ray", "local"), ("auto", "auto"), ("ray://head:10001", "ray://head:10001")]
)
def test_addresses(text: str, address: str) -> None:
    assert parse_address(text) == address


def test_nobody_there_is_said_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        check_client(f"ray://127.0.0.1:{port}")


def test_a_port_that_listens_and_a_missing_client(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("grpc", reason="Ray's client is not installed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_client(f"ray://127.0.0.1:{server.getsockname()[1]}")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolMissing, match=r"pip install photometer\[ray\]"):
        check_client("ray://127.0.0.1:1")


class FakeRay:
    """Its head gives up on as many clients as told."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.options: list[dict[str, Any]] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: Any) -> None:
        self.options.append(options)
        if len(self.options) <= self.failures:
            raise ConnectionAbortedError("Initialization failure from server:\nit took too long")

    def shutdown(self) -> None:
        pass


class SlowRay(FakeRay):
    """It does not start in time as often as told."""

    def init(self, **options: Any) -> None:
        self.options.append(options)
        if len(self.options) <= self.failures:
            raise Exception("The current node timed out during startup.\nThis could happen for a reason.")


def test_a_ray_that_does_not_start_in_time_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.remote.cluster.import_ray", lambda: SlowRay(2))
    timed_out = pytest.raises(WorkerStartError, match="no Ray cluster at local: The current node timed out")
    with pytest.warns(UserWarning, match="trying once more"), timed_out, Cluster("ray"):
        pass


def test_a_ray_that_does_not_start_in_time_is_started_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = SlowRay(1)
    monkeypatch.setattr("photometer.remote.cluster.import_ray", lambda: ray)
    with pytest.warns(UserWarning, match="Ray did not start in time"), Cluster("ray"):
        assert len(ray.options) == 2


def test_ray_leaves_signals_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    class GraspingRay(FakeRay):
        def init(self, **options: Any) -> None:
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))

    def ours(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("photometer.remote.cluster.import_ray", lambda: GraspingRay(0))
    before = signal.signal(signal.SIGTERM, ours)
    try:
        with Cluster("ray"):
            assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_that_comes_while_ray_starts_is_handled_as_before_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class SlowRayWithItsHandler(FakeRay):
        is_shut_down = False

        def init(self, **options: Any) -> None:
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
            assert [*tmp_path.iterdir()] != []
            signal.raise_signal(signal.SIGTERM)

        def shutdown(self) -> None:
            self.is_shut_down = True

    def ours(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    ray = SlowRayWithItsHandler(0)
    monkeypatch.setattr("photometer.remote.cluster.import_ray", lambda: ray)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = signal.signal(signal.SIGTERM, ours)
    try:
        with pytest.raises(KeyboardInterrupt), Cluster("ray"):
            pass
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ray.is_shut_down
    assert [*tmp_path.iterdir()] == []


def test_what_ends_for_another_reason_ends_as_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    class EndingRay(FakeRay):
        def init(self, **options: Any) -> None:
            sys.exit(3)

    monkeypatch.setattr("photometer.remote.cluster.import_ray", lambda: EndingRay(0))
    with pytest.raises(SystemExit) as ended, Cluster("ray"):
        pass
    assert ended.value.code == 3


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_busy_head_is_asked_twice(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(failures)
    monkeypatch.setattr("photometer.remote.cluster.import_ray", lambda: ray)
    monkeypatch.setattr("photometer.remote.cluster.check_client", lambda address: None)
    with contextlib.ExitStack() as stack:
        if failures == 2:
            refused = stack.enter_context(pytest.raises(WorkerStartError, match="no Ray cluster at ray://head:1: Init"))
        stack.enter_context(Cluster("ray://head:1"))
    assert [options["address"] for options in ray.options] == ["ray://head:1"] * min(failures + 1, 2)
    if failures == 2:
        assert "it took too long" in str(refused.value)


@pytest.mark.parametrize("text", ["", "raay", "http://head", "ray://", "ray://a b", "10.0.0.1:6379"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(DefinitionError, match="is not a cluster"):
        parse_address(text)


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ToolMissing, match=r"pip install photometer\[ray\]"):
        import_ray()


def test_the_top_of_a_checkout_travels_once(tmp_path: Path) -> None:
    source = tmp_path / "project" / "src"
    source.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    other = tmp_path / "other"
    other.mkdir()
    folders = [str(source), str(source.parent), str(other), str(tmp_path / "missing")]
    assert shipped_folders(folders) == (str(source.parent), str(other))
    assert runtime_env(shipped_folders(folders))["py_modules"] == [str(source.parent), str(other)]
    assert runtime_env([]) == {}


def test_folders_are_found_where_ray_has_unpacked_them(tmp_path: Path) -> None:
    there = tmp_path / "_ray_pkg_abc" / "project"
    there.mkdir(parents=True)
    (tmp_path / "elsewhere" / "project").mkdir(parents=True)
    path = [str(tmp_path / "elsewhere"), str(there.parent)]
    assert unpacked(["/home/me/project", "/home/me/other"], path) == (("/home/me/project", str(there)),)
