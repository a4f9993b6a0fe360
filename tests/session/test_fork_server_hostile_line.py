"""Whatever arrives on the line: a message, an error of ours, or nothing yet; never anything else, and never a wait."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from photometer.errors import ProtocolError, SnippetError, WorkerError
from photometer.model.machine import Environment
from photometer.session.child_process import ChildGone, ChildProcess
from photometer.session.fork_server import ForkServer
from photometer.session.session import Session
from photometer.session.zygote import Launch, Zygote
from photometer.worker.messages import (
    PROTOCOL_VERSION,
    REQUESTS,
    BadMessage,
    Counted,
    Failed,
    Prepared,
    Spun,
    Time,
    Timed,
    TimedBlocks,
    TorchFacts,
    decode_reply,
    encode_reply,
)
from photometer.worker.protocol import Disconnected, Garbled, MessageBuffer, pack_message

pytestmark = pytest.mark.lengthy

REPLIES = (Prepared, Timed, TimedBlocks, Counted, Spun, TorchFacts)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["ok", "id", "seconds", "block_seconds", "block_preemptions", "first_seconds", "runs", "dumps", "type", "message"]
)


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_a_buffer_of_anything_gives_messages_or_an_error(parts: list[bytes]) -> None:
    buffer = MessageBuffer()
    try:
        for part in parts:
            buffer.add(part)
            while (message := buffer.next_message()) is not None:
                assert isinstance(message, dict)
    except Garbled:
        pass


@given(st.lists(st.dictionaries(st.text(max_size=5), JSON.filter(lambda v: v == v), max_size=3), max_size=5), st.data())
def test_messages_cut_anywhere_arrive_whole(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    stream = b"".join(pack_message(message) for message in messages)
    buffer, arrived = MessageBuffer(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        buffer.add(stream[:size])
        stream = stream[size:]
        while (message := buffer.next_message()) is not None:
            arrived.append(message)
    assert json.dumps(arrived) == json.dumps(messages)


@settings(max_examples=300)
@given(st.sampled_from(REPLIES), st.dictionaries(FIELDS, JSON, max_size=8))
def test_a_reply_is_what_was_waited_for_or_a_bad_message(kind: Any, message: dict[str, Any]) -> None:
    try:
        reply = decode_reply(kind, message)
    except BadMessage:
        return
    assert isinstance(reply, kind | Failed)


def test_every_reply_survives_the_line() -> None:
    for reply in (Prepared(0.5), Prepared(0.0, 2.5), Timed(1e-9), TimedBlocks([1.0, 2.0], [0, 1], 3.0, 3.0), Spun(3)):
        message = json.loads(json.dumps(encode_reply(reply, 7)))
        assert decode_reply(type(reply), message, 7) == reply
        with pytest.raises(BadMessage, match="request 7"):
            decode_reply(type(reply), message, 8)
    assert {request.verb for request in REQUESTS.values()} == set(REQUESTS)


class FakeLine:
    """Delivers what it is given, one after another; an exception is raised."""

    def __init__(self, *deliveries: dict[str, Any] | Exception) -> None:
        self.deliveries = iter(deliveries)
        self.given_up = False

    def send(self, message: dict[str, Any], deadline: float) -> None:
        pass

    def receive(self, deadline: float) -> dict[str, Any]:
        delivery = next(self.deliveries)
        if isinstance(delivery, Exception):
            raise delivery
        return delivery

    def output(self) -> str:
        return "last words"

    def give_up(self) -> None:
        self.given_up = True


@pytest.mark.parametrize(
    ("delivery", "kind", "gives_up"),
    [
        ({"ok": True, "id": 1, "seconds": float("nan")}, ProtocolError, True),
        ({"ok": True, "id": 1, "seconds": -1.0}, ProtocolError, True),
        ({"ok": True, "id": 1}, ProtocolError, True),
        ({"ok": True, "id": 2, "seconds": 1.0}, ProtocolError, True),
        ({}, ProtocolError, True),
        (Garbled("noise"), ProtocolError, True),
        (Disconnected(), WorkerError, True),
        (ChildGone(9), WorkerError, False),
        ({"ok": False, "id": 1, "type": "E", "message": "m", "traceback": "t"}, SnippetError, False),
    ],
)
def test_an_unexpected_reply_is_one_error(delivery: Any, kind: type[WorkerError], gives_up: bool) -> None:
    line = FakeLine(delivery)
    with pytest.raises(kind):
        ChildProcess(line, 1).ask(Time(1))
    assert line.given_up is gives_up


# Stands for a zygote, and for the server that is forked from it.
WORKER = """#!{python}
import os, socket, struct, sys, time
_, descriptors, _, _ = socket.recv_fds(socket.socket(fileno=os.dup(0)), 1, 3)
control, _ = socket.socket(fileno=descriptors[0]).accept()
_, (channel, lifeline, output), _, _ = socket.recv_fds(control, 1, 3)
(length,) = struct.unpack(">Q", control.recv(8, socket.MSG_WAITALL))
control.recv(length, socket.MSG_WAITALL)
os.dup2(control.fileno(), 0)
def send(data):
    os.write(channel, data)
def message(text):
    body = text.replace("PID", str(os.getpid())).encode()
    return struct.pack(">Q", len(body)) + body
{behaviour}
"""
VERSION = f'"version": {PROTOCOL_VERSION}'
GREETING = (
    f'message(\'{{"ok": true, "id": 0, {VERSION}, "pid": "PID", "python": "3", "executable": "p", "torch": "2"}}\')'
)
BEHAVIOURS = {
    "nothing at all": "",
    "garbage": "send(b'x' * 100)",
    "half a greeting": f"send({GREETING}[:20]); time.sleep(600)",
    "another version": 'send(message(\'{"ok": true, "id": 0, "version": 99}\'))',
    "a greeting without its fields": f'send(message(\'{{"ok": true, "id": 0, {VERSION}}}\'))',
    "a greeting with the pid of another": f"send({GREETING.replace('PID', '1')}); time.sleep(600)",
    "a greeting, then it ends": f"send({GREETING})",
    "a greeting, then no forks": f"send({GREETING}); time.sleep(600)",
    "a greeting, then garbage": f"send({GREETING}); os.read(0, 1); send(b'y' * 500); time.sleep(600)",
    "too much": f"send({GREETING}); os.read(0, 1)\nwhile True: send(b'z' * 65536)",
}


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.session.fork_server.FORK_SECONDS", 1.0)
    original = ForkServer.wait_until_ready
    monkeypatch.setattr(ForkServer, "wait_until_ready", lambda server, *_: original(server, 2.0))


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
def test_a_worker_that_misbehaves_is_an_error_and_is_gone(behaviour: str, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(WORKER.format(python=sys.executable, behaviour=behaviour))
    script.chmod(0o700)
    session = Session(Environment(str(script)))
    started: list[Zygote] = []

    def start(launch: Launch) -> ForkServer:
        server = session.zygotes.start(launch)
        assert server.zygote is not None
        started.append(server.zygote)
        return server

    session._start = start
    with session, pytest.raises(WorkerError):
        session.facts()
    for zygote in started:
        assert zygote.exit_status is not None
        assert not zygote.place.folder.exists()
