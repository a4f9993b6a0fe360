"""Sessions that are timing survive if instructions cannot be counted because Valgrind is missing."""

from __future__ import annotations

from typing import Any

import pytest

from photometer.comparing import counts
from photometer.errors import ToolMissing


class TimingSession:
    """A session of which only it is asked whether it was killed."""

    def __init__(self) -> None:
        self.killed = False

    def kill(self) -> None:
        self.killed = True


class NoCounter:
    def __init__(self, session: TimingSession, **options: Any) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("error", "killed"), [(ToolMissing("no Valgrind"), False), (KeyboardInterrupt(), True)])
def test_only_a_real_end_kills_the_sessions(
    error: BaseException, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: Any) -> None:
        raise error

    monkeypatch.setattr(counts, "InstructionCounter", NoCounter)
    monkeypatch.setattr(counts, "_count", failing)
    sessions: list[Any] = [TimingSession(), TimingSession()]
    orders: list[Any] = [[object()], [object()]]
    with pytest.raises(type(error)):
        counts.count_sides(sessions, orders)
    assert [session.killed for session in sessions] == [killed, killed]
