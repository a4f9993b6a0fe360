"""A real PostgreSQL in a temporary folder, for tests and benchmarks/history.py; it speaks over a socket there alone.

PostgreSQL refuses to run as root, so that another user runs it then: postgres, which Debian's package makes, or nobody.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

USER = "photometer"
PASSWORD = "sesame-4711"
START_SECONDS = 300.0


class NoPostgreSQL(Exception):
    """It cannot be had here; the message says why."""


@contextlib.contextmanager
def running_postgresql(*, durable: bool = False) -> Iterator[str]:
    """Start a server and yield the URL of its database; it is gone afterwards.

    One that is not `durable` leaves writing to the system: quicker, and no different unless the machine loses power.
    """
    binaries = _binaries()
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="photometer-postgresql-"))
    try:
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
        with _server(binaries, folder, account, durable) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _server(binaries: Path, folder: Path, account: pwd.struct_passwd | None, durable: bool) -> Iterator[str]:
    secret = folder / "password"
    secret.write_text(PASSWORD + "\n", encoding="utf-8")
    data = folder / "data"
    _run(
        [str(binaries / "initdb"), "-D", str(data), "-U", USER, "--pwfile", str(secret), "-A", "scram-sha-256",
         "--no-sync", "-E", "UTF8", "--locale=C"],
        folder,
        account,
    )  # fmt: skip
    log = folder / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*_ending_with_us(), str(binaries / "postgres"), "-D", str(data), "-k", str(folder),
             "-c", "listen_addresses=", "-c", f"fsync={'on' if durable else 'off'}", "-c", "max_connections=50"],
            cwd=folder, stdout=output, stderr=output, **_as(account),
        )  # fmt: skip
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (folder / ".s.PGSQL.5432").exists() or "ready to accept connections" not in log.read_text():
            if server.poll() is not None or time.monotonic() > deadline:
                raise NoPostgreSQL(f"PostgreSQL did not start: {log.read_text()[-500:]}")
            time.sleep(0.05)
        yield f"postgresql+psycopg://{USER}:{PASSWORD}@/postgres?host={folder}"
    finally:
        # Fast shutdown: clients are disconnected.
        server.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
        server.kill()
        server.wait()


def _binaries() -> Path:
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = shutil.which("initdb") or (str(known[-1]) if known else None)
    if found is None:
        raise NoPostgreSQL("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return Path(found).parent


def _ending_with_us() -> list[str]:
    """Return what makes the kernel end the server if this process is killed (util-linux has it)."""
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "INT"] if found else []


def _account() -> pwd.struct_passwd | None:
    """Return who is to run it, or None if this user may."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoPostgreSQL("PostgreSQL refuses to run as root, and there is no other user")


def _as(account: pwd.struct_passwd | None) -> dict[str, Any]:
    return {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _run(command: list[str], folder: Path, account: pwd.struct_passwd | None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **_as(account))
    if done.returncode != 0:
        raise NoPostgreSQL(f"initdb failed: {done.stderr[-500:]}")
