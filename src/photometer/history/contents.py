"""How the content of a record is kept: MessagePack with the samples as packed doubles, compressed; and back, exactly.

Two records with the same content have the same digest, so that a store keeps it once.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from photometer.errors import StoreError
from photometer.model.results_format import encode_line

# Neighbouring bytes of sorted-by-significance doubles compress well; more effort saves 2 % and takes thrice as long.
_LEVEL = 3
_PACKED = "raw_times"
# A record of a large model with its stacks is some 100 KB; what claims to be more than this is damaged.
LARGEST_CONTENT_BYTES = 64 * 1024 * 1024
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()


def digest_of(record: Mapping[str, Any]) -> bytes:
    """Return 16 bytes that tell one content from another, whatever the order of its fields."""
    ordered = msgspec.json.encode(record, order="sorted") if _is_plain(record) else encode_line(record, "the record")
    return hashlib.blake2b(ordered, digest_size=16).digest()


def pack(record: Mapping[str, Any]) -> bytes:
    """Return the record compressed."""
    times = record.get(_PACKED)
    if isinstance(times, list | tuple) and times and all(type(each) is float for each in times):
        record = {**record, _PACKED: _shuffled(times)}
    try:
        return zlib.compress(_encoder.encode(record), _LEVEL)
    except (UnicodeEncodeError, OverflowError, TypeError):
        # Lone surrogates, which JSON's escapes can hold, or an integer beyond 64 bits.
        return zlib.compress(b"{" + encode_line(record, "the record")[1:], _LEVEL)


def unpack(data: bytes) -> dict[str, Any]:
    """Return the record again; data that is damaged is a StoreError."""
    from photometer.model.results_format import decode

    try:
        stream = zlib.decompressobj()
        plain = stream.decompress(data, LARGEST_CONTENT_BYTES)
        if stream.unconsumed_tail:
            raise StoreError("a stored record is larger than any real one", remedy=_REMEDY)
        record = decode(plain) if plain[:1] == b"{" else _decoder.decode(plain)
    except (zlib.error, msgspec.DecodeError, ValueError, struct.error) as error:
        raise StoreError(f"a stored record is damaged: {error}", remedy=_REMEDY) from error
    if not isinstance(record, dict):
        raise StoreError("a stored record is damaged: it is no object", remedy=_REMEDY)
    if isinstance(record.get(_PACKED), bytes):
        record[_PACKED] = _in_order(record[_PACKED])
    return record


_REMEDY = "`photometer history doctor` lists what is damaged."


def _shuffled(values: list[float] | tuple[float, ...]) -> bytes:
    """Return all first bytes, then all second bytes, …: neighbours are then alike."""
    plain = struct.pack(f"<{len(values)}d", *values)
    return b"".join(plain[byte::8] for byte in range(8))


def _in_order(packed: bytes) -> list[float]:
    count = len(packed) // 8
    plain = bytearray(len(packed))
    for byte in range(8):
        plain[byte::8] = packed[byte * count : (byte + 1) * count]
    return list(struct.unpack(f"<{count}d", bytes(plain)))


def _is_plain(record: Mapping[str, Any]) -> bool:
    try:
        msgspec.json.encode(record)
    except (UnicodeEncodeError, TypeError, OverflowError):
        return False
    return True
