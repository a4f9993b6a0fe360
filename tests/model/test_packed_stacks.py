from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from photometer.errors import ResultsFileError
from photometer.model.packed_stacks import LONGEST_NAME, ComparisonStacks, pack_stacks, short_name, unpack_stacks
from photometer.model.records import from_record, to_record

names = st.text("abc", min_size=1, max_size=2)
folded = st.dictionaries(st.lists(names, min_size=1, max_size=5).map(tuple), st.integers(1, 1000), max_size=20)


@given(folded)
def test_packing_keeps_everything_that_can_be_seen(stacks: dict[tuple[str, ...], int]) -> None:
    packed = json.loads(json.dumps(pack_stacks(stacks.items(), smallest_share=0.0)))
    assert dict(unpack_stacks(packed)) == stacks


@given(folded, st.floats(0.0, 0.5))
def test_what_is_pruned_stays_with_its_caller(stacks: dict[tuple[str, ...], int], share: float) -> None:
    rooted = {("main", *stack): count for stack, count in stacks.items()}
    kept = unpack_stacks(pack_stacks(rooted.items(), smallest_share=share))
    assert sum(count for _, count in kept) == sum(rooted.values())


def test_thin_frames_go_and_names_are_written_once() -> None:
    stacks = [(("main", "f", "f"), 990), (("main", "thin"), 1), (("main",), 9)]
    packed = pack_stacks(stacks, smallest_share=0.01)
    assert packed["frames"] == ["main", "f"]
    assert dict(unpack_stacks(packed)) == {("main", "f", "f"): 990, ("main",): 10}


def test_names_of_templates_are_cut_in_the_middle() -> None:
    name = "begin<" + "x" * 5000 + ">::end"
    assert len(short_name(name)) <= LONGEST_NAME + 5
    assert short_name(name).startswith("begin<")
    assert short_name(name).endswith(">::end")


@pytest.mark.parametrize(
    "packed",
    [
        None,
        [],
        {},
        {"frames": ["f"], "tree": [[0, 0, 1]]},
        {"frames": [], "tree": [[-1, 0, 1]]},
        {"frames": ["f"], "tree": [["a", 0, 1]]},
    ],
)
def test_nonsense_is_an_error(packed: object) -> None:
    with pytest.raises(ResultsFileError, match="call stacks"):
        unpack_stacks(packed)


def test_the_record_of_both_sides_comes_back() -> None:
    packed = pack_stacks([(("main", "f"), 10)])
    stacks = ComparisonStacks("id", 100, packed, pack_stacks([(("main", "g"), 20)]))
    again = from_record(ComparisonStacks, json.loads(json.dumps(to_record(stacks))))
    assert again == stacks
    assert again.branch_stacks == ((("main", "g"), 20),)
    with pytest.raises(ResultsFileError, match="both sides"):
        from_record(ComparisonStacks, {**to_record(stacks), "branch": {"frames": [], "tree": []}})
    with pytest.raises(ResultsFileError, match="number_per_run"):
        from_record(ComparisonStacks, {**to_record(stacks), "number_per_run": 0})
