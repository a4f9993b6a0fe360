from __future__ import annotations

import threading
from typing import Any

from photometer.session.pool import ServerStock


class FakeServer:
    def __init__(self) -> None:
        self.alive = True
        self.closed = False
        self.greeting: dict[str, Any] = {}

    def kill(self) -> None:
        self.alive = False

    def close(self) -> None:
        self.alive, self.closed = False, True


def test_a_server_is_used_again_by_its_own_kind_only() -> None:
    stock = ServerStock(FakeServer)
    with stock.lend(1) as first, stock.lend(1) as second:
        assert first is not second
    with stock.lend(1) as again:
        assert again in (first, second)
    with stock.lend(2) as other:
        assert other not in (first, second)
    stock.close()
    assert first.closed
    assert second.closed
    assert other.closed


def test_one_that_died_is_closed_and_not_lent_again() -> None:
    stock = ServerStock(FakeServer)
    with stock.lend() as first:
        first.alive = False
    assert first.closed
    with stock.lend() as second:
        assert second is not first
    second.alive = False
    with stock.lend() as third:
        assert third is not second
    assert second.closed


def test_kill_reaches_those_that_are_lent_and_those_that_start() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def start_slowly() -> FakeServer:
        begun.set()
        go_on.wait(10)
        return FakeServer()

    stock = ServerStock(start_slowly)
    seen: list[FakeServer] = []

    def borrow() -> None:
        with stock.lend() as server:
            seen.append(server)

    thread = threading.Thread(target=borrow)
    thread.start()
    begun.wait(10)
    stock.kill()
    go_on.set()
    thread.join(10)
    assert seen[0].closed
