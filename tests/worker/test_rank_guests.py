"""Groups whose last ranks are on another machine; here it is this one, in another session."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.errors import SnippetError
from photometer.session.session import Session
from photometer.worker.messages import Prepare, Time, TimeBlocks
from photometer.worker.protocol import send_message
from photometer.worker.rank_guests import HostRanks
from photometer.worker.ranks import LOOPBACK, interface_towards
from tests.waiting import wait_until_gone

pytestmark = [pytest.mark.lengthy, pytest.mark.warm, pytest.mark.skipif(os.name != "posix", reason="forks")]

KEY = "a word"
TENSOR = "x = torch.ones(1000)"
ALL_REDUCE = "torch.distributed.all_reduce(x)"


@pytest.fixture
def port(session: Session) -> Iterator[int]:
    """Have a child wait for guests."""
    with session.child() as hosting:
        yield hosting.ask(HostRanks(KEY)).port


def led(port: int, stmt: str, setup: str = TENSOR, *, ranks: int = 3, guests: int = 2) -> Prepare:
    hosts = ((f"127.0.0.1:{port}", guests),)
    return Prepare(stmt, setup, ranks=ranks, guests=hosts, guests_address="127.0.0.1", guests_key=KEY, warmup_runs=1)


def test_guests_are_ranks_like_all_others(session: Session, port: int, tmp_path: Path) -> None:
    check = f"x.fill_(1); {ALL_REDUCE}; assert x[0] == world_size == 3 and rank < world_size"
    names = f"import os; place = [os.environ[name] for name in ('RANK', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE')]\n{TENSOR}"
    write = f"open({str(tmp_path)!r} + f'/{{rank}}', 'w').write(' '.join(place))"
    with session.child() as child:
        child.ask(led(port, check, f"{names}\n{write}"))
        timed = child.ask(Time(3))
        blocks = child.ask(TimeBlocks(2, 20))
    assert len(timed.rank_seconds) == 3
    assert [len(seconds) for seconds in blocks.rank_block_seconds] == [20] * 3
    assert [(tmp_path / str(rank)).read_text() for rank in range(3)] == ["0 0 1", "1 0 2", "2 1 2"]


def test_a_guest_waits_for_an_invitation_that_is_late(port: int) -> None:
    invitation = {"key": KEY, "rank": 1, "count": 2, "local_rank": 0, "local_count": 1, "meeting": "127.0.0.1:1"}
    with socket.create_connection(("127.0.0.1", port)) as line:
        time.sleep(0.5)
        send_message(line.fileno(), invitation)
        # It now waits for what it is asked: it has not closed the connection.
        line.settimeout(1.0)
        with pytest.raises(TimeoutError):
            line.recv(1)


def test_a_host_takes_one_group_after_another(session: Session, port: int) -> None:
    for ranks in (2, 3):
        with session.child() as child:
            child.ask(led(port, f"assert world_size == {ranks}", ranks=ranks, guests=ranks - 1))
            assert len(child.ask(Time(1)).rank_seconds) == ranks


def test_all_begin_a_block_together(session: Session, port: int) -> None:
    with session.child() as child:
        child.ask(led(port, "pass", "import time\nif rank: time.sleep(4)", ranks=2, guests=1))
        assert child.ask(Time(1)).seconds < 3


@pytest.mark.parametrize(
    ("stmt", "words"),
    [
        (f"1 / (1 - rank); {ALL_REDUCE}", r"division by zero \(in rank 1 of 2\)"),
        (f"rank and os.abort(); {ALL_REDUCE}", "rank 1 of 2 on another machine ended, or its machine is gone"),
    ],
)
def test_a_guest_that_dies_or_raises_is_one_failure(session: Session, port: int, stmt: str, words: str) -> None:
    with session.child() as child, pytest.raises(SnippetError, match=words):
        child.ask(led(port, stmt, f"import os\n{TENSOR}", ranks=2, guests=1), 60)


def test_guests_end_with_the_child_that_leads_them(session: Session, port: int, tmp_path: Path) -> None:
    names = tmp_path / "pids"
    setup = f"import os\nwith open({str(names)!r}, 'a') as file: file.write(f'{{os.getpid()}}\\n')\n{TENSOR}"
    with session.child() as child:
        child.ask(led(port, ALL_REDUCE, setup), 60)
        os.kill(child.pid, signal.SIGKILL)
    pids = [int(pid) for pid in names.read_text().split()]
    assert len(pids) == 3
    wait_until_gone(pids)


def test_a_host_that_is_gone_is_said(session: Session) -> None:
    # Nobody listens there, and nobody else can get the port.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with session.child() as child, pytest.raises(SnippetError, match=f"the machine at 127.0.0.1:{port} cannot"):
            child.ask(led(port, "pass", ranks=2, guests=1), 60)


def test_another_word_gets_no_rank(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 120) as line:
        send_message(line.fileno(), {"key": "another", "rank": 0, "count": 1, "local_rank": 0, "local_count": 1})
        assert line.recv(1) == b""


def test_the_interface_is_the_one_that_reaches_the_other_machine() -> None:
    assert interface_towards("127.0.0.1") == LOOPBACK
    assert interface_towards("127.0.0.7") == LOOPBACK
