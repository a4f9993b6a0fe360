"""How the content of a record is kept: MessagePack with the samples as packed doubles, compressed; and back, exactly.

Two records with the same content have the same digest, so that a store keeps it once.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from photometer.errors import StoreError
from photometer.model.results_format import encode_line

# Most bytes of samples are noise: more effort saves 2 % of them and takes twice as long.
_LEVEL = 1
_PACKED = "raw_times"
# A record of a large model with its stacks is some 100 KB; what claims to be more than this is damaged.
LARGEST_CONTENT_BYTES = 64 * 1024 * 1024
# Lone surrogates, which JSON's escapes can hold, or an integer beyond 64 bits.
_NOT_PLAIN = (UnicodeEncodeError, OverflowError, TypeError)
_json_encoder = msgspec.json.Encoder(order="sorted")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()


def digest_of(record: Mapping[str, Any]) -> bytes:
    """Return 16 bytes that identify a content, whatever the order of its fields."""
    try:
        ordered = _json_encoder.encode(record)
    except _NOT_PLAIN:
        ordered = json.dumps(record, sort_keys=True, allow_nan=False).encode("ascii")
    return hashlib.blake2b(ordered, digest_size=16).digest()


def pack(record: Mapping[str, Any]) -> bytes:
    """Return the record compressed."""
    times = record.get(_PACKED)
    packed = record
    if isinstance(times, list | tuple) and times and all(type(each) is float for each in times):
        packed = {**record, _PACKED: _shuffled(times)}
    try:
        return zlib.compress(_encoder.encode(packed), _LEVEL)
    except _NOT_PLAIN:
        # As JSON, whose first byte is never that of MessagePack's maps.
        return zlib.compress(encode_line(record, "the record"), _LEVEL)


def unpack(data: bytes) -> dict[str, Any]:
    """Return the record; damaged data raise a StoreError."""
    from photometer.model.results_format import decode

    if not isinstance(data, bytes):
        raise StoreError("a stored record is damaged: it has no content", remedy=_REMEDY)
    try:
        stream = zlib.decompressobj()
        plain = stream.decompress(data, LARGEST_CONTENT_BYTES)
        if stream.unconsumed_tail:
            raise StoreError("a stored record is larger than any real one", remedy=_REMEDY)
        record = decode(plain) if plain[:1] == b"{" else _decoder.decode(plain)
    except (zlib.error, msgspec.DecodeError, ValueError, struct.error) as error:
        raise StoreError(f"a stored record is damaged: {error}", remedy=_REMEDY) from error
    if not isinstance(record, dict):
        raise StoreError("a stored record is damaged: it is not an object", remedy=_REMEDY)
    if isinstance(record.get(_PACKED), bytes):
        record[_PACKED] = _in_order(record[_PACKED])
    return record


_REMEDY = "`photometer history verify` lists what is damaged."


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
