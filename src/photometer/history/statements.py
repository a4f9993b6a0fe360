"""What `ab` compared, in a store: the whole ranking, and each statement against the first as a comparison.

Statements have no suite and no commit of their own: they are kept with the commit that is checked out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.history.recorder import open_recorder


def store_ab(place: str, header: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Write the results of one `ab`; `header` has its statements and set-ups under "ab"."""
    with open_recorder(place, header) as recorder:
        for record in records:
            recorder.add(record)
            if record.get("kind") == "ranking":
                recorder.add_all(comparisons_of(record, header))


def comparisons_of(ranking: Mapping[str, Any], header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a record of kind "comparison" for each statement with a verdict against the reference."""
    about = header.get("ab")
    texts = about.get("statements", []) if isinstance(about, Mapping) else []
    setups = about.get("setups", []) if isinstance(about, Mapping) else []
    reference = str(ranking.get("reference", ""))
    found = []
    for statement in ranking.get("statements", ()):
        if not statement.get("verdict"):
            continue
        name = str(statement.get("name", ""))
        # The pair is the same whenever the same two are compared with the same set-ups.
        pair = hashlib.sha256(repr((reference, name, texts, setups)).encode("utf-8", "backslashreplace")).hexdigest()
        found.append(
            {
                "kind": "comparison",
                "order_id": f"ab-{pair[:24]}",
                "title": f"{name} against {reference}",
                "verdict": statement["verdict"],
                "cause": "",
                "order": {"id": f"ab-{pair[:24]}", "label": ["ab", reference, name], "auto": {}},
                "task_spec": {"stmt": name, "setup": str(setups[0]) if setups else "pass"},
            }
        )
    return found
