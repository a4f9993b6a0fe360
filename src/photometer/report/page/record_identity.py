"""The identity of a record in a results file: id, labels from the group down, words for the variant, and code.

In: a record as a plain dict. Records of a run have a work order, others only a task spec or a title. Out: an Identity.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.model.order_name import UNNAMED, compile_words, name_below_group, sizes_of_record, split_title
from photometer.model.records import from_record
from photometer.model.task import TaskSpec

# Most benchmarks are these: a row does not show them, but can be filtered by them.
USUAL_WORDS = ("eager", "forward", "1 thread")
# True of nearly every row: showing them would only hide what differs.
_OMITTED_WORDS = {"cpu", "explicit"}
LANGUAGES = ("python", "cpp")


@dataclasses.dataclass(frozen=True)
class CodeView:
    """The code as it ran."""

    stmt: str
    setup: str = ""
    global_setup: str = ""
    language: str = "python"


@dataclasses.dataclass(frozen=True)
class Named:
    """`path` is the label from the group down; `words` name the variant and are what tags filter by."""

    id: str
    path: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def group(self) -> str:
        return self.path[0] if len(self.path) > 1 else ""

    @property
    def name(self) -> str:
        return name_below_group(self.path)


@dataclasses.dataclass(frozen=True)
class Identity(Named):
    """What a record is of, with its code."""

    code: CodeView


def identity_of(record: Mapping[str, Any], source: str = "") -> Identity:
    """Return the identity. `source` distinguishes equal benchmarks of several files; with one file it is empty."""
    spec = from_record(TaskSpec, record["task_spec"]) if isinstance(record.get("task_spec"), Mapping) else None
    order = record.get("order")
    if isinstance(order, Mapping) and isinstance(order.get("label"), Sequence):
        return _of_order(order, spec, source)
    if spec is not None:
        return _of_spec(spec, source)
    return _of_title(str(record.get("title") or UNNAMED), source)


def _of_order(order: Mapping[str, Any], spec: TaskSpec | None, source: str) -> Identity:
    auto = order.get("auto")
    auto = auto if isinstance(auto, Mapping) else {}
    words = [str(auto[name]) for name in ("language", "runtime", "autograd", "device") if auto.get(name)]
    words += compile_words(auto.get("compile"))
    threads = auto.get("num_threads", 1 if spec is None else spec.num_threads)
    words.append("1 thread" if threads == 1 else f"{threads} threads")
    words += [f"{name}={value}" for name, value in sizes_of_record(auto)]
    words = [word for word in words if word not in _OMITTED_WORDS]
    path = tuple(str(part) for part in order["label"]) or (UNNAMED,)
    tags = tuple(str(tag) for tag in _listed(order, "tags"))
    language = str(auto.get("language", "python"))
    return Identity(_id(path, words, source), path, _with(source, (*words, *tags)), _code(spec, language))


def _listed(record: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return the list of that name; nothing if it is missing or something else."""
    found = record.get(name)
    return found if isinstance(found, list | tuple) else ()


def _of_title(title: str, source: str) -> Identity:
    """Read what `WorkOrder.title` writes: `label › label [runtime, autograd, language, threads, device, sizes]`."""
    path, variant = split_title(title)
    words = ["1 thread" if word == "1" else f"{word} threads" if word.isdecimal() else word for word in variant]
    words = sorted((word for word in words if word not in _OMITTED_WORDS), key=lambda word: word not in LANGUAGES)
    language = "cpp" if "cpp" in words else "python"
    return Identity(_id(path, words, source), path, _with(source, tuple(words)), CodeView("", language=language))


def _id(path: Sequence[str], words: Sequence[str], source: str) -> str:
    # Not the order's own id, which depends on the code too: a link should outlive an edit of the statement.
    return content_id([path, sorted(words), source])


def _of_spec(spec: TaskSpec, source: str) -> Identity:
    first_line = spec.stmt.strip().split("\n", 1)[0]
    parts = [part for part in (spec.label, spec.sub_label) if part]
    path = tuple(parts) if parts else (first_line or UNNAMED,)
    if len(parts) == 1 and spec.sub_label is None:
        path = (parts[0], first_line)
    words = [spec.description] if spec.description else []
    words += [spec.env] if spec.env else []
    words.append("1 thread" if spec.num_threads == 1 else f"{spec.num_threads} threads")
    identity = [*path, *words, spec.stmt, spec.setup, source]
    return Identity(content_id(identity), path, _with(source, tuple(words)), _code(spec, "python"))


def _code(spec: TaskSpec | None, language: str) -> CodeView:
    if spec is None:
        return CodeView("", language=language)
    setup = "" if spec.setup.strip() == "pass" else spec.setup
    return CodeView(spec.stmt, setup, spec.global_setup, "cpp" if spec.global_setup else language)


def _with(source: str, words: tuple[str, ...]) -> tuple[str, ...]:
    return (*words, source) if source else words


def content_id(parts: Sequence[object]) -> str:
    """Return an id for a link that stays valid: it depends on the benchmark, not on its place in a file."""
    text = json.dumps(parts, ensure_ascii=True, default=str)
    return "b-" + hashlib.sha256(text.encode()).hexdigest()[:12]
