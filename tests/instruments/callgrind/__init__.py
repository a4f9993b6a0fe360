"""The golden files of the Callgrind tests, and how to read one."""

from __future__ import annotations

from pathlib import Path

from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.callgrind.profile import CallgrindProfile

GOLDEN = Path(__file__).parent / "golden"


def parse_profile(path: Path) -> CallgrindProfile:
    return parse_text(path.read_text(encoding="utf-8", errors="replace"), source=str(path))
