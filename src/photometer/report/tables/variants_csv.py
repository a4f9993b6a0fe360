"""One line per variant of a run, with its sizes, rates, phases and metrics, as CSV or JSON. In: rows. Out: text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from photometer.report.tables.as_csv import write_csv


def render_variants_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows below their heads; what is not known is empty."""
    return write_csv(list(dict.fromkeys(name for row in rows for name in row)), rows)


def render_variants_json(rows: Sequence[dict[str, Any]]) -> str:
    """Return a list of objects; a number that JSON does not have, which only a hostile file has, is null."""
    return json.dumps(_known(list(rows)), indent=2, allow_nan=False) + "\n"


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _known(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_known(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
