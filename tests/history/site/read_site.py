"""Data files of a published site, as Python values: what `script/load.js` does."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

_CALL = re.compile(r"photometerData\(\"([a-z0-9-]+)\",'(.*)'\);\n", re.DOTALL)


def from_script(text: str) -> Any:
    found = _CALL.fullmatch(text)
    assert found is not None, text[:200]
    return json.loads(re.sub(r"\\(['\\])", r"\1", found.group(2)))


def site_data(page: Path, name: str) -> Any:
    return from_script((page.parent / "data" / f"{name}.js").read_text())


def unpacked(packed: dict[str, Any]) -> list[float]:
    scale = 10.0 ** abs(packed["exponent"])
    whole = itertools.accumulate(packed["steps"])
    return [number / scale if packed["exponent"] < 0 else number * scale for number in whole]
