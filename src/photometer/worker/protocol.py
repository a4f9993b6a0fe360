"""How messages travel: JSON with its length before it, over a socket of their own. messages.py defines them.

User code may print freely: standard output is not used. JSON, never pickle: a reply is data, whoever wrote it.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

_LENGTH = struct.Struct(">Q")
# A length beyond this is not a message but nonsense on the line.
MOST_BYTES = 1 << 30
_CHUNK = 1 << 20
# In the place of a path: those in requests are padded to one length with leading slashes, and so is this.
NO_PATH = "/"


class Disconnected(Exception):
    """The other side has closed the line."""


class Garbled(Exception):
    """The received bytes are not a message."""


def pack_message(message: dict[str, Any], *, multiple_of: int = 1) -> bytes:
    """Return the bytes of a message, filled with spaces so that its body has a multiple of that length."""
    body = json.dumps(message).encode()
    body += b" " * (-len(body) % multiple_of)
    return _LENGTH.pack(len(body)) + body


def send_message(descriptor: int, message: dict[str, Any]) -> None:
    data = memoryview(pack_message(message))
    while data:
        data = data[os.write(descriptor, data) :]


def receive_message(descriptor: int) -> dict[str, Any]:
    """Wait for the next message, on the far side, which has nothing else to do."""
    (length,) = _LENGTH.unpack(_read_exactly(descriptor, _LENGTH.size))
    return _parse(_read_exactly(descriptor, _checked(length)))


class MessageBuffer:
    """Bytes as they arrive, messages when they are complete, for the near side, which does not wait for them."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        self._bytes += data

    def next_message(self) -> dict[str, Any] | None:
        if len(self._bytes) < _LENGTH.size:
            return None
        end = _LENGTH.size + _checked(_LENGTH.unpack_from(self._bytes)[0])
        if len(self._bytes) < end:
            return None
        body = bytes(self._bytes[_LENGTH.size : end])
        del self._bytes[:end]
        return _parse(body)

    def clear(self) -> None:
        self._bytes.clear()


def _checked(length: int) -> int:
    if length > MOST_BYTES:
        raise Garbled(f"a message of {length} bytes was announced")
    return length


def _parse(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Garbled(f"a message that is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise Garbled(f"a message that is not an object: {message!r:.100}")
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
