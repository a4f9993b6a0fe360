"""A PNG's pixels, so that a test can look at a picture: how often each colour occurs."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from pathlib import Path


def colours_of(path: Path) -> Counter[tuple[int, int, int]]:
    """Of an 8-bit RGB or RGBA picture that is not interlaced, as browsers write them."""
    data = path.read_bytes()
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    assert (depth, interlaced) == (8, 0)
    channels = {2: 3, 6: 4}[kind]
    packed, place = b"", 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        if data[place + 4 : place + 8] == b"IDAT":
            packed += data[place + 8 : place + 8 + length]
        place += length + 12
    raw, stride = zlib.decompress(packed), width * channels
    before = bytearray(stride)
    counts: Counter[tuple[int, int, int]] = Counter()
    for row in range(height):
        start = row * (stride + 1)
        line = bytearray(raw[start + 1 : start + 1 + stride])
        _unfilter(raw[start], line, before, channels)
        counts.update(zip(line[0::channels], line[1::channels], line[2::channels], strict=True))
        before = line
    return counts


def _unfilter(kind: int, line: bytearray, above: bytearray, step: int) -> None:
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            add = left
        elif kind == 2:
            add = above[i]
        elif kind == 3:
            add = (left + above[i]) // 2
        elif kind == 4:
            guess = left + above[i] - corner
            add = min((left, above[i], corner), key=lambda near: abs(guess - near))
        else:
            return
        line[i] = (line[i] + add) & 0xFF
