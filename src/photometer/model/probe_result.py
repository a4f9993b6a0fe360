"""ProbeResult: what one run of a statement left on one side of a comparison: its results and the settings then."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class ProbeResult:
    """`results` are the named values, None if the statement has none to show; `not_compared_because` says why if it
    should have some. `modules` come from the checkout."""

    results: Mapping[str, Any] | None = None
    modules: tuple[str, ...] = ()
    num_threads: int | None = None
    flushes_denormals: bool | None = None
    not_compared_because: str = ""
