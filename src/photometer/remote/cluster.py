"""Cluster: Ray started on this machine, or a running cluster joined; its nodes, and the files sent to them.

with Cluster("ray") as cluster:            a cluster on this machine only, which ends with the block
with Cluster("ray://HOST:10001") as …      one that runs elsewhere, by its client port
with Cluster("auto") as …                  the one that this machine belongs to (or RAY_ADDRESS)
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from photometer.errors import DefinitionError, PhotometerError, ToolMissing, WorkerStartError
from photometer.model.own_code import git_root
from photometer.session.cores import usable_cores
from photometer.session.left_behind import private_folder
from photometer.session.remarks import remark

INSTALL = "Install it: pip install photometer[ray]"
# `ray start --resources='{"photometer_shared": 4}'`: photometer may use four cores of a node that others also use.
SHARED = "photometer_shared"
# The prefix of client addresses, and the default port.
CLIENT, CLIENT_PORT = "ray://", 10001
CONNECT_SECONDS = 10.0
# Ray's words for a part of it that did not start in time.
TIMED_OUT = "timed out"
QUIETLY = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
# Ray puts sockets about 65 characters deeper, and the path of a socket may have 107.
LONGEST_FOLDER = 42
# Not code, or generated.
NOT_SHIPPED = (".git", ".venv", "venv", "__pycache__", "photometer-results", "*.so.*", "node_modules", "build", "dist")


@dataclasses.dataclass(frozen=True)
class ClusterNode:
    """A node as Ray knows it. `cpus` are those that photometer may use."""

    id: str
    name: str
    cpus: int
    gpus: int
    is_shared: bool
    # By which other nodes reach it.
    address: str = ""


class Cluster:
    """Use as a context manager. A cluster that was started here ends with it; one that was joined goes on."""

    def __init__(self, address: str, *, importable: Iterable[str] = ()) -> None:
        self.address = parse_address(address)
        self._importable = tuple(importable)
        # Folders of this machine that Ray unpacks on the nodes.
        self.shipped: tuple[str, ...] = ()
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Cluster:
        ray = import_ray()
        if ray.is_initialized():
            # Started by the caller, such as a test: leave it running.
            self._is_ours = False
            return self
        self._is_ours = True
        _silence_ray()
        try:
            with _keeping_signals():
                self._start(ray) if self.address == "local" else self._join(ray)
        except BaseException as error:
            self._close(ray)
            # Ray raises a bare Exception if a part of it does not start in time.
            if isinstance(error, PhotometerError) or not isinstance(error, Exception):
                raise
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise WorkerStartError(
                f"no Ray cluster at {self.address}: {lines[0]}",
                log="\n".join(lines[1:]),
                remedy="Start one (`ray start --head`), or leave --on out to measure on this machine.",
            ) from error
        return self

    def _start(self, ray: Any) -> None:
        # Ray's logs and sockets are removed with it, and no other program can join this cluster by mistake.
        folder = self._open.enter_context(private_folder())
        options = {
            # One CPU per core, not per hyper-thread.
            "num_cpus": len(usable_cores()),
            "include_dashboard": False,
            **({"_temp_dir": str(folder)} if len(str(folder)) <= LONGEST_FOLDER else {}),
            **QUIETLY,
        }
        try:
            ray.init(**options)
        except Exception as error:
            # On a busy machine. Ray allows its parts 30 s, and raises a bare Exception then.
            if TIMED_OUT not in str(error):
                raise
            remark("Ray did not start in time: this machine is busy; trying once more")
            ray.shutdown()
            ray.init(**options)

    def _join(self, ray: Any) -> None:
        self.shipped = shipped_folders(self._importable)
        options = {"address": self.address, "runtime_env": runtime_env(self.shipped), **QUIETLY}
        if self.address.startswith(CLIENT):
            check_client(self.address)
            # The head starts a process per client, and gives up if that takes long on a busy machine: try twice.
            with contextlib.suppress(ConnectionAbortedError):
                ray.init(**options)
                return
        ray.init(**options)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_ours:
            self._close(import_ray())

    def _close(self, ray: Any) -> None:
        # Ends this driver's actors, and the cluster if it was started here.
        with contextlib.suppress(Exception):
            ray.shutdown()
        self._open.close()

    def nodes(self) -> list[ClusterNode]:
        """Return the nodes that are alive and have CPUs, largest first."""
        found = []
        for entry in import_ray().nodes():
            resources = entry.get("Resources", {})
            if not entry.get("Alive") or resources.get("CPU", 0) < 1:
                continue
            shared = int(resources.get(SHARED, 0))
            address = str(entry["NodeManagerAddress"])
            name = f"{entry.get('NodeManagerHostname') or address}-{entry['NodeID'][:6]}"
            cpus = min(int(resources["CPU"]), shared) if shared else int(resources["CPU"])
            found.append(ClusterNode(entry["NodeID"], name, cpus, int(resources.get("GPU", 0)), bool(shared), address))
        return sorted(found, key=lambda node: (-node.gpus, -node.cpus, node.name))


@contextlib.contextmanager
def _keeping_signals() -> Iterator[None]:
    """Handle signals as before the block, also one that comes meanwhile: Ray's handler of SIGTERM is sys.exit."""
    if threading.current_thread() is not threading.main_thread():
        # Python lets only the main thread handle signals, and Ray sets none elsewhere.
        yield
        return
    before: dict[int, Any] = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }

    def restore() -> None:
        for number, handler in before.items():
            if handler is not None:
                # Also if Python knows of no change: a handler of C++ is replaced, too.
                signal.signal(number, handler)

    try:
        yield
    except SystemExit as error:
        restore()
        if isinstance(error.code, int) and callable(before.get(error.code)):
            signal.raise_signal(error.code)
        raise
    finally:
        restore()


def parse_address(text: str) -> str:
    """Return the address to give to Ray for `ray`, `ray://HOST:PORT` or `auto`."""
    if text == "ray":
        return "local"
    if text == "auto" or re.fullmatch(r"ray://[^\s/]+", text):
        return text
    raise DefinitionError(
        f"{text!r} is not a cluster", remedy="Give ray (start one here), ray://HOST:10001, or auto (join the one here)."
    )


def check_client(address: str) -> None:
    """Raise at once if nothing listens at ray://HOST:PORT or Ray's client is not installed: Ray would try for 30 s."""
    if importlib.util.find_spec("grpc") is None:
        raise ToolMissing("Ray's client is not installed", remedy=INSTALL)
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    if not host or not port.isdigit():
        host, port = address.removeprefix(CLIENT), str(CLIENT_PORT)
    socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


def import_ray() -> Any:
    # Ray asks about usage statistics on a terminal, and hides accelerators from actors that request none. Its C++ would
    # end the process at SIGTERM, and print a stack; Ray reads this when it is imported.
    os.environ.setdefault("RAY_DISABLE_FAILURE_SIGNAL_HANDLER", "1")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise ToolMissing("Ray is not installed", remedy=INSTALL) from error
    return ray


def shipped_folders(importable: Iterable[str]) -> tuple[str, ...]:
    """Return the folders to send to nodes: for each folder of the user's code, the root of its checkout."""
    tops: list[Path] = []
    for folder in map(Path, importable):
        if folder.is_dir():
            top = git_root(folder) or folder
            if not any(top.is_relative_to(other) for other in tops):
                tops = [other for other in tops if not other.is_relative_to(top)] + [top]
    return tuple(map(str, tops))


def runtime_env(folders: Iterable[str]) -> dict[str, Any]:
    """Return Ray's settings to send folders to nodes, where they are unpacked on the path of Ray's workers."""
    folders = list(folders)
    if not folders:
        return {}
    return {"py_modules": folders, "excludes": list(NOT_SHIPPED)}


def unpacked(folders: Iterable[str], search_path: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return where the driver's folders are on this node, found on the path that Ray gave its workers."""
    places = [Path(entry) for entry in search_path if "_ray_pkg_" in entry]
    found = []
    for folder in folders:
        name = Path(folder).name
        here = next((place / name for place in places if (place / name).is_dir()), None)
        if here is not None:
            found.append((folder, str(here)))
    return tuple(found)


def _silence_ray() -> None:
    """Keep Ray's own messages off the terminal: photometer reports what concerns the user."""
    for name in ("ray", "ray.data", "ray._private"):
        logging.getLogger(name).setLevel(logging.ERROR)
