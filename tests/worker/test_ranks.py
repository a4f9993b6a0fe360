"""Groups of ranks in real children: gloo, two to four processes, and what is left when one of them fails."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from photometer.errors import SnippetError, WorkerTimeout
from photometer.session.session import Session
from photometer.worker.messages import MeasureMemory, Prepare, Prepared, Reply, Request, Spin, Time, TimeBlocks, Timed
from photometer.worker.ranks import RankFailed, RankGroup, users_frames
from tests.waiting import is_running, wait_until, wait_until_gone

pytestmark = [pytest.mark.lengthy, pytest.mark.warm, pytest.mark.skipif(os.name != "posix", reason="forks")]

TENSOR = "x = torch.ones(1000)"
ALL_REDUCE = "torch.distributed.all_reduce(x)"


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_group_reduces_and_each_rank_has_its_time(session: Session, ranks: int) -> None:
    check = f"x.fill_(1); {ALL_REDUCE}; assert x[0] == world_size == {ranks} and rank < world_size"
    with session.child() as child:
        child.ask(Prepare(check, TENSOR, ranks=ranks, warmup_runs=2))
        timed = child.ask(Time(3))
        blocks = child.ask(TimeBlocks(2, 3))
    assert len(timed.rank_seconds) == ranks
    assert timed.seconds == max(timed.rank_seconds)
    assert [len(seconds) for seconds in blocks.rank_block_seconds] == [3] * ranks
    assert blocks.block_seconds == [max(each) for each in zip(*blocks.rank_block_seconds, strict=True)]


def test_the_slowest_rank_is_the_time_and_the_others_do_not_wait_for_it_on_their_clock(session: Session) -> None:
    with session.child() as child:
        child.ask(Prepare("time.sleep(4 * rank)", "import time", ranks=2))
        timed = child.ask(Time(1))
    # Rank 1 sleeps for four seconds, which no load hides.
    assert timed.rank_seconds[1] == timed.seconds
    assert timed.rank_seconds[0] < timed.rank_seconds[1] / 2


def test_all_ranks_begin_a_block_together(session: Session) -> None:
    """A rank that comes late to a block does not shorten it: the barrier is before the clock."""
    with session.child() as child:
        # Rank 1 is late only where nothing is timed.
        child.ask(Prepare("pass", "import time\nif rank: time.sleep(4)", ranks=2))
        # A clock that began before the barrier would show most of the four seconds.
        assert child.ask(Time(1)).seconds < 3


def test_memory_is_that_of_rank_0_and_what_depends_on_the_clock_is_refused(session: Session) -> None:
    with session.child() as child:
        child.ask(Prepare(f"y = torch.ones(100 + rank); {ALL_REDUCE}", TENSOR, ranks=2))
        assert child.ask(MeasureMemory(1)).repeats[0][1] >= 400
        with pytest.raises(SnippetError, match="'spin' is not done with ranks"):
            child.ask(Spin(0.1))


def test_a_later_preparation_has_a_group_of_its_own(session: Session) -> None:
    with session.child() as child:
        child.ask(Prepare(ALL_REDUCE, TENSOR, ranks=2))
        child.ask(Prepare("assert world_size == 3", ranks=3, warmup_runs=1))
        child.ask(Prepare("pass", warmup_runs=1))
        assert child.ask(Time(1)).rank_seconds == []


@pytest.mark.parametrize(
    ("stmt", "setup", "words"),
    [
        ("rank or os.abort(); " + ALL_REDUCE, "import os", "rank 0 of 2 died of SIGABRT"),
        (ALL_REDUCE, "import os\nif rank == 1: os._exit(7)", "rank 1 of 2 ended with exit status 7"),
        (ALL_REDUCE, "if rank == 1: raise ValueError('no data')", r"no data \(in rank 1 of 2\)"),
        ("1 / (1 - rank)\n" + ALL_REDUCE, "pass", r"division by zero \(in rank 1 of 2\)"),
        (ALL_REDUCE, "torch.distributed.init_process_group('gloo')", "twice"),
    ],
)
def test_a_rank_that_dies_or_raises_is_one_failure(session: Session, stmt: str, setup: str, words: str) -> None:
    with session.server() as server:
        with server.child() as child, pytest.raises(SnippetError, match=words):
            child.ask(Prepare(stmt, f"{TENSOR}\n{setup}", ranks=2, warmup_runs=1), 60)
        assert server.strays == 0
        # The server goes on.
        with server.child() as child:
            child.ask(Prepare("pass", warmup_runs=1))


def test_a_rank_that_hangs_is_ended_with_all_others(session: Session, tmp_path: Path) -> None:
    names = tmp_path / "pids"
    setup = f"import os\nwith open({str(names)!r}, 'a') as file: file.write(f'{{os.getpid()}}\\n')\n{TENSOR}"
    with session.child() as child:
        child.ask(Prepare(f"while rank: pass\n{ALL_REDUCE}", setup, ranks=2), 60)
        with pytest.raises(WorkerTimeout, match="no reply within"):
            child.ask(Time(1), 1.0)
    assert not any(is_running(int(pid)) for pid in names.read_text().split())


def test_the_death_of_the_near_side_ends_all_ranks(tmp_path: Path) -> None:
    """Its lifeline closes: the kernel ends the child, and with it the ranks, in the midst of a collective."""
    names = tmp_path / "pids"
    setup = f"import os\nwith open({str(names)!r}, 'a') as file: file.write(f'{{os.getpid()}}\\n')\n{TENSOR}"
    near_side = os.fork()
    if near_side == 0:
        try:
            with Session() as own, own.child() as child:
                child.ask(Prepare(f"while rank: pass\n{ALL_REDUCE}", setup, ranks=2), 60)
                child.ask(Time(1))
        finally:
            os._exit(0)
    wait_until(lambda: names.exists() and len(names.read_text().split()) == 2)
    os.kill(near_side, signal.SIGKILL)
    os.waitpid(near_side, 0)
    wait_until_gone(map(int, names.read_text().split()))


class _Sleepy:
    """A rank whose second request is never finished in rank 1."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._rank = names["rank"]

    def reply_to(self, request: Request[Any]) -> Reply:
        if isinstance(request, Prepare):
            return Prepared(0.0)
        time.sleep(0.0 if self._rank == 0 else 3600)
        return Timed(1.0)


def test_where_a_rank_hangs_is_in_the_output(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for rank 0 to reply on any machine.
    group = RankGroup(2, _Sleepy, before_block="before", patience_seconds=3.0)
    group.ask(Prepare(num_threads=1))
    # Joining may take longer than that.
    capfd.readouterr()
    say = group._have_them_say_where_they_are

    def say_and_stop(replies: dict[int, Reply]) -> None:
        """It would wait forever."""
        say(replies)
        raise TimeoutError

    monkeypatch.setattr(group, "_have_them_say_where_they_are", say_and_stop)
    with pytest.raises(TimeoutError):
        group.ask(Time(1))
    err = capfd.readouterr().err
    assert "rank 1 of 2 has not replied after 3 s" in err
    assert "rank 0 of 2" not in err
    with pytest.raises(RankFailed, match="have ended"):
        group.ask(Time(1))


def test_a_stack_is_shown_down_to_the_users_line() -> None:
    stack = (
        "Stack (most recent call first):\n"
        '  File "/torch/distributed_c10d.py", line 3252 in all_reduce\n'
        '  File "<photometer snippet 1>", line 3 in _photometer_blocks\n'
        '  File "/photometer/worker/child.py", line 258 in run\n'
    )
    found = users_frames(stack)
    assert found == "all_reduce (/torch/distributed_c10d.py:3252), called by line 3 of set-up and statement"
    assert users_frames("") == "its place is unknown"
