"""Files that were cut, flipped, shuffled or rewritten: only a ResultsFileError, and no whole record is ever lost."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.results_file import ResultsFile
from photometer.model.results_format import FILE_END
from photometer.model.results_reader import Results, load_results
from photometer.results import record_types

pytestmark = pytest.mark.lengthy

FILES = sorted((Path(__file__).parent / "data" / "0.1").glob("*.json"))
CONTENTS = {path.stem: path.read_bytes() for path in FILES}
NOUNS: list[Any] = list(record_types().values())
NEW = {"kind": "failure", "message": "the new one"}
# The folder of a test is the same for all its examples, each of which writes its own file anew.
many_examples = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

names = st.sampled_from(sorted(CONTENTS))
odd_numbers = st.sampled_from(
    [0, -1, 2**31, 2**63, -(2**63) - 1, 10**400, -(10**400), 5e-324, 1e308, -1e308, 1.5, True, 0.1 + 0.2]
)
odd_texts = st.sampled_from(["", "\0", "\ud800", "\x1b[31m", "\u2028", "\r\n", "]}", "x" * 2000]) | st.text(max_size=20)
scalars = odd_numbers | odd_texts | st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(odd_texts, inner, max_size=4),
    max_leaves=12,
)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


deep_values = st.integers(1, 900).map(nested)


def write(folder: Path, content: bytes) -> Path:
    path = folder / "file.json"
    path.write_bytes(content)
    return path


def read_all(results: Results) -> None:
    """Ask for all that a file can be asked for."""
    _ = results.kinds
    with contextlib.suppress(ResultsFileError):
        _ = results.machine
    for noun in NOUNS:
        with contextlib.suppress(ResultsFileError):
            for found in results.of(noun):
                # A measurement without samples may say so.
                with contextlib.suppress(MeasurementError):
                    assert repr(found)


def attack(folder: Path, content: bytes) -> None:
    """Read and recover the file, append to it, and look for every record that was whole."""
    path = write(folder, content)
    with contextlib.suppress(ResultsFileError):
        read_all(load_results(path))
    try:
        before = load_results(path, recover=True)
    except ResultsFileError:
        before = None
    if before is not None:
        read_all(before)
    try:
        ResultsFile(path).append(NEW)
    except ResultsFileError:
        # Not a file with one record per line: it is refused, and stays as it is.
        assert path.read_bytes() == content
        return
    after = load_results(path, recover=True).records
    assert after[-1] == NEW
    if before is not None:
        # In their order; a part that was not read before may have become readable.
        left = iter(after[:-1])
        assert all(any(record == other for other in left) for record in before.records)


@many_examples
@given(name=names, data=st.data())
def test_cut_anywhere(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = CONTENTS[name]
    size = data.draw(st.integers(0, len(content)))
    whole = [line for line in content[:size].split(b"\n")[1:] if is_whole(line)]
    attack(tmp_path, content[:size])
    if content[:size].startswith(content.split(b"\n")[0]):
        # A file torn at its end is repaired by the append: it can be read without recovery.
        records = load_results(tmp_path / "file.json").records
        assert len(records) == len(whole) + 1


def is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.removesuffix(b",")), dict)
    except ValueError:
        return False


@many_examples
@given(name=names, data=st.data())
def test_bytes_flipped(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = bytearray(CONTENTS[name])
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=6)):
        content[place] = data.draw(st.integers(0, 255))
    attack(tmp_path, bytes(content))


@many_examples
@given(name=names, data=st.data())
def test_bytes_taken_out_and_put_in(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = CONTENTS[name]
    begin, end = sorted(data.draw(st.tuples(st.integers(0, len(content)), st.integers(0, len(content)))))
    junk = data.draw(st.binary(max_size=50) | st.sampled_from([FILE_END, b",]}\n", b"\n", b"[" * 5000, b"\0" * 4096]))
    attack(tmp_path, content[:begin] + junk + content[data.draw(st.sampled_from([begin, end])) :])


@many_examples
@given(name=names, data=st.data())
def test_lines_dropped_doubled_and_moved(tmp_path: Path, name: str, data: st.DataObject) -> None:
    lines = CONTENTS[name].split(b"\n")
    chosen = data.draw(st.lists(st.sampled_from(range(len(lines))), max_size=2 * len(lines)))
    kept = [lines[number] for number in chosen]
    attack(tmp_path, b"\n".join(lines[:1] + kept if data.draw(st.booleans()) else kept))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) in a JSON value."""
    if isinstance(value, dict):
        found: list[tuple[Any, Any]] = [(value, key) for key in value]
    elif isinstance(value, list):
        found = [(value, index) for index in range(len(value))]
    else:
        return []
    return found + [place for container, key in tuple(found) for place in places(container[key])]


def laid_out(document: Any) -> bytes:
    """Write a document as we do, with one record per line, whatever it is."""
    records = (
        document.pop("records") if isinstance(document, dict) and isinstance(document.get("records"), list) else None
    )
    head = json.dumps(document)
    if records is None:
        return head.encode()
    lines = ",\n".join(json.dumps(record) for record in records)
    return f'{head[:-1]}, "records": [\n{lines}\n]}}\n'.encode()


@many_examples
@given(name=names, data=st.data(), replacement=values | deep_values)
def test_structure_numbers_and_text_replaced(
    tmp_path: Path, name: str, data: st.DataObject, replacement: object
) -> None:
    document = json.loads(CONTENTS[name])
    container, key = data.draw(st.sampled_from(places(document)))
    action: Callable[[], object] = data.draw(
        st.sampled_from(
            [
                lambda: container.__setitem__(key, replacement),
                lambda: container.__delitem__(key),
                lambda: container.__setitem__(key, [container[key]]),
                lambda: container.__setitem__(key, {"kind": container[key]}),
            ]
        )
    )
    action()
    attack(tmp_path, laid_out(document))


@pytest.mark.parametrize("name", sorted(CONTENTS))
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
def test_nesting_that_no_parser_follows(tmp_path: Path, name: str, opening: bytes) -> None:
    lines = CONTENTS[name].split(b"\n")
    for number in range(1, len(lines)):
        deep = b'{"kind": "failure", "x": ' + opening * 50_000
        attack(tmp_path, b"\n".join([*lines[:number], deep, *lines[number:]]))


def test_recovery_keeps_the_records_beside_one_without_a_kind(tmp_path: Path) -> None:
    path = ResultsFile.create(tmp_path / "r.json", records=[{"kind": "failure", "n": n} for n in range(3)]).path
    path.write_bytes(path.read_bytes().replace(b'"kind": "failure", "n": 1', b'"n": 1'))
    with pytest.raises(ResultsFileError, match=r"record 2: should be an object with a .kind."):
        load_results(path)
    recovered = load_results(path, recover=True)
    assert [record["n"] for record in recovered.records] == [0, 2]
    assert recovered.damage == ('record 2 is not an object with a "kind"',)
