"""A child's life from its fork to its end, here of this process: the same for a server, `ab` and a stopped pytest."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from photometer.session.policy import can_fork
from photometer.worker.child_life import (
    LOWEST_DESCRIPTOR,
    fork_with_threads,
    live_as_child,
    out_of_reach,
    read_nothing_from,
)
from photometer.worker.messages import Exit, Hello, Prepare, Request, Time, decode_reply, encode_request
from photometer.worker.protocol import receive_message, send_message

pytestmark = pytest.mark.skipif(not can_fork(), reason="no fork here")


class Parent:
    """Has one child, and the near ends of its line."""

    def __init__(self, errors: Path, fails: str = "", **names: object) -> None:
        self.channel, far = socket.socketpair()
        far_lifeline, self.lifeline = os.pipe()

        def take_line() -> tuple[int, int]:
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
            sys.stderr = os.fdopen(2, "w", closefd=False)
            self.close()
            if fails:
                raise ValueError(fails)
            return far.fileno(), far_lifeline

        self.pid = fork_with_threads()
        if self.pid == 0:
            live_as_child(take_line, dict(names))
        far.close()
        os.close(far_lifeline)

    def hello(self) -> int:
        hello = decode_reply(Hello, receive_message(self.channel.fileno()))
        assert isinstance(hello, Hello)
        return int(hello.pid)

    def ask(self, request: Request[Any]) -> dict[str, Any]:
        self.send(request)
        return receive_message(self.channel.fileno())

    def send(self, request: Request[Any]) -> None:
        send_message(self.channel.fileno(), encode_request(request))

    def end(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def cut_lifeline(self) -> None:
        os.close(self.lifeline)
        self.lifeline = -1

    def close(self) -> None:
        self.channel.close()
        if self.lifeline >= 0:
            self.cut_lifeline()


@pytest.fixture
def errors(tmp_path: Path) -> Path:
    return tmp_path / "errors"


@pytest.fixture
def parent(errors: Path) -> Iterator[Parent]:
    parent = Parent(errors, note=os.write, group=os.getpgrp)
    assert parent.hello() == parent.pid
    yield parent
    parent.close()


def test_it_serves_requests_in_a_group_of_its_own_until_it_may_leave(parent: Parent, errors: Path) -> None:
    assert os.getpgid(parent.pid) == parent.pid != os.getpgrp()
    parent.ask(Prepare("note(2, str(group()).encode())"))
    parent.ask(Time(1))
    parent.send(Exit())
    assert parent.end() == 0
    assert errors.read_text() == str(parent.pid), "its statements see the names, and nothing else was written"


def test_a_closed_channel_is_a_good_end(parent: Parent) -> None:
    parent.channel.close()
    assert parent.end() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a handler of Python's ends it")
def test_the_kernel_ends_it_with_its_lifeline_in_the_midst_of_a_statement(parent: Parent) -> None:
    parent.ask(Prepare("while True: pass"))
    parent.send(Time(1))
    parent.cut_lifeline()
    assert parent.end() == -signal.SIGIO


def test_without_a_line_it_says_why_and_never_returns(errors: Path) -> None:
    parent = Parent(errors, fails="no line")
    assert parent.end() == 1
    parent.close()
    assert errors.read_text().rstrip().endswith("ValueError: no line")


def test_what_this_process_runs_at_its_exit_is_not_the_child_s(parent: Parent, errors: Path) -> None:
    parent.ask(Prepare("import atexit; atexit.register(note, 2, b'at exit')", warmup_runs=1))
    parent.send(Exit())
    assert parent.end() == 0
    assert errors.read_text() == ""


@pytest.mark.parametrize("spoils", ["sys.stdout.close()", "sys.stdout = None", "sys.stderr.close()"])
def test_it_ends_whatever_the_user_s_code_did_to_its_output(spoils: str, parent: Parent) -> None:
    """Otherwise it went on as a second copy of this process."""
    parent.ask(Prepare(f"import sys; {spoils}", warmup_runs=1))
    parent.send(Exit())
    assert parent.end() == 0


def test_a_descriptor_out_of_reach_is_the_same_file_and_stays_here() -> None:
    far, near = os.pipe()
    moved = out_of_reach(far)
    assert moved >= LOWEST_DESCRIPTOR
    assert fcntl.fcntl(moved, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(far)
    os.write(near, b"x")
    assert os.read(moved, 2) == b"x"
    read_nothing_from(moved)
    assert os.read(moved, 2) == b""
    os.close(moved)
    os.close(near)
