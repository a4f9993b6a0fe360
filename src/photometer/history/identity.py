"""Who is who: fingerprints of machines and environments, keys of runs and results, the benchmark of a record.

In: headers and records of results files. Out: names that are the same wherever and whenever they are computed.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.history.nouns import Suite
from photometer.model.order_name import name_of_record, sizes_of_record, title_text
from photometer.model.units import GIB


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """A hash of facts, a line for people, and the facts."""

    digest: str
    name: str
    facts: Mapping[str, Any] = dataclasses.field(hash=False)


@dataclasses.dataclass(frozen=True)
class BenchmarkIdentity:
    key: str
    title: str
    label: tuple[str, ...]
    auto: Mapping[str, Any] = dataclasses.field(hash=False)
    tags: tuple[str, ...]
    task: Mapping[str, Any] = dataclasses.field(hash=False)


def machine_fingerprint(header: Mapping[str, Any]) -> Fingerprint:
    """Return the fingerprint of a run's kind of machine, without its kernel and its load on the day."""
    machine = _mapping(header.get("machine"))
    memory = machine.get("memory_bytes")
    facts = {
        "cpu_model": machine.get("cpu_model"),
        "logical_cores": machine.get("logical_cores"),
        "memory_gib": round(memory / GIB) if isinstance(memory, int | float) else None,
        "hypervisor": machine.get("hypervisor"),
    }
    words = [machine.get("cpu_model"), f"{facts['logical_cores']} cores" if facts["logical_cores"] else None]
    words.append(f"{facts['memory_gib']} GiB" if facts["memory_gib"] else None)
    return _fingerprint(facts, words, "unknown machine")


def environment_fingerprint(header: Mapping[str, Any]) -> Fingerprint:
    """Return the fingerprint of a run's Python and torch; a torch built from a commit counts as its release.

    So the commits of PyTorch itself are points of one curve, and an upgrade of torch begins another.
    """
    machine = _mapping(header.get("machine"))
    torch = _mapping(machine.get("torch"))
    version = torch.get("version")
    python = re.match(r"\d+\.\d+", str(machine.get("python") or ""))
    facts = {
        "python": python.group() if python else None,
        "torch": str(version).partition("+")[0] if version else None,
        "cuda": torch.get("cuda"),
        "hip": torch.get("hip"),
        "debug": torch.get("debug"),
        "cxx_flags": torch.get("cxx_flags"),
    }
    words = [f"Python {facts['python']}" if python else None, f"torch {facts['torch']}" if version else None]
    words += [f"CUDA {facts['cuda']}" if facts["cuda"] else None, "debug" if facts["debug"] else None]
    return _fingerprint(facts, words, "unknown environment")


def suite_of(header: Mapping[str, Any]) -> Suite:
    about = about_of(header)
    return Suite(str(about.get("suite") or ""), str(about.get("fingerprint") or ""))


def kind_of(header: Mapping[str, Any]) -> str:
    return next((kind for name, kind in _KINDS.items() if name in header), "measurements")


def about_of(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a header that says what was run."""
    return next((_mapping(header[name]) for name in _KINDS if name in header), {})


_KINDS = {"run": "run", "comparison": "compare", "ab": "ab"}


def run_key(header: Mapping[str, Any], first_record: Mapping[str, Any] | None = None) -> str:
    """Return the identity of a run: its id, or, for a file of 0.1, its header and first record."""
    given = about_of(header).get("id")
    if isinstance(given, str) and given:
        return given
    return _hash({"header": header, "first": first_record})


def result_id(key: str, digest: bytes) -> int:
    """Return the number of a record of a run: 63 bits of a hash, so that collisions in a million runs are unlikely."""
    hashed = hashlib.blake2b(key.encode("utf-8", "surrogatepass") + digest, digest_size=8).digest()
    return int.from_bytes(hashed, "big") >> 1


def order_key(record: Mapping[str, Any]) -> str | None:
    """Return the id of a record's order, which is its benchmark's key; None if it has none."""
    order = record.get("order")
    found = order.get("id") if isinstance(order, Mapping) else None
    found = found or record.get("order_id")
    return str(found) if found else None


def benchmark_of(record: Mapping[str, Any]) -> BenchmarkIdentity | None:
    """Return the benchmark of a record, by its order or by its statement; None if it has neither."""
    order, task = _mapping(record.get("order")), _mapping(record.get("task_spec"))
    key = order_key(record)
    label = tuple(str(word) for word in order.get("label") or ())
    if not label:
        label = tuple(str(task[name]) for name in ("label", "sub_label") if task.get(name))
    if not key:
        if not task:
            return None
        key = "task-" + _hash({name: value for name, value in task.items() if name != "env"})[:24]
        label = label or (str(task.get("stmt", ""))[:80],)
    flat = _flat(_mapping(order.get("auto")))
    tags = order.get("tags")
    return BenchmarkIdentity(
        key,
        _title(label, order, task) or str(record.get("title") or key),
        label,
        flat,
        tuple(str(tag) for tag in tags) if isinstance(tags, Sequence) and not isinstance(tags, str) else (),
        task,
    )


def started_at(header: Mapping[str, Any]) -> int:
    date = _mapping(header.get("machine")).get("date")
    try:
        return int(datetime.datetime.fromisoformat(str(date)).timestamp())
    except (ValueError, OverflowError, OSError):
        return 0


def _title(label: tuple[str, ...], order: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    if not label:
        return ""
    if order.get("auto"):
        return name_of_record({**order, "label": label}).title
    return title_text(label, [str(task.get("description") or "")])


def _flat(auto: Mapping[str, Any]) -> dict[str, Any]:
    """Return automatic labels as one level: sizes of a sweep are labels of their own."""
    flat = {name: value for name, value in auto.items() if name != "sizes" and not isinstance(value, (dict, list))}
    return {**flat, **dict(sizes_of_record(auto))}


def _fingerprint(facts: Mapping[str, Any], words: Sequence[str | None], unknown: str) -> Fingerprint:
    name = ", ".join(word for word in words if word) or unknown
    return Fingerprint(_hash(facts)[:16], name, {key: value for key, value in facts.items() if value is not None})


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
