"""What crosses the process line: messages of JSON with their length before them, over a socket of their own.

User code may print as it likes: standard output is not used. JSON, never pickle: an answer is data, whoever wrote it.
A request is {"verb": …, …}; an answer is {"ok": true, …} or {"ok": false, "error": {…}}.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

# Raised with every change of a verb or its fields; the near side refuses a worker that says another.
PROTOCOL_VERSION = 2

_LENGTH = struct.Struct(">Q")
# A length beyond this is not a message but nonsense on the line.
MOST_BYTES = 1 << 30
_CHUNK = 1 << 20


class Disconnected(Exception):
    """The other side has closed the line."""


class Garbled(Exception):
    """What came is not a message."""


def send_message(descriptor: int, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    data = memoryview(_LENGTH.pack(len(body)) + body)
    while data:
        data = data[os.write(descriptor, data) :]


def receive_message(descriptor: int) -> dict[str, Any]:
    (length,) = _LENGTH.unpack(_read_exactly(descriptor, _LENGTH.size))
    if length > MOST_BYTES:
        raise Garbled(f"a message of {length} bytes was announced")
    try:
        message = json.loads(_read_exactly(descriptor, length))
    except ValueError as error:
        raise Garbled(f"a message that is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise Garbled(f"a message that is no object: {message!r:.100}")
    return message


def _read_exactly(descriptor: int, length: int) -> bytes:
    parts = []
    while length:
        part = os.read(descriptor, min(length, _CHUNK))
        if not part:
            raise Disconnected
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
