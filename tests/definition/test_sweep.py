"""Sizes, devices and tags as the author writes them."""

from __future__ import annotations

import pytest

from photometer.definition.sweep import device_names, size_points, tag_names, thread_counts
from photometer.errors import DefinitionError


def test_a_mapping_is_every_combination() -> None:
    assert size_points({"n": (1, 2), "m": range(3, 5)}) == (
        (("n", 1), ("m", 3)),
        (("n", 1), ("m", 4)),
        (("n", 2), ("m", 3)),
        (("n", 2), ("m", 4)),
    )


def test_a_list_is_chosen_points() -> None:
    assert size_points([{"n": 1, "shape": [2, 2]}, {"n": 2, "shape": (3,)}]) == (
        (("n", 1), ("shape", (2, 2))),
        (("n", 2), ("shape", (3,))),
    )


def test_no_sizes_is_one_point() -> None:
    assert size_points(None) == ((),)


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        (),
        5,
        {"n": 3},
        {"n": ()},
        {"n": (1, 1)},
        {"n": (None,)},
        {"n": ((1, "a"),)},
        {"for": (1,)},
        {"device": (1,)},
        {"photometer_n": (1,)},
        ({"n": 1}, {"m": 1}),
        ({},),
    ],
)
def test_bad_sizes(sizes: object) -> None:
    with pytest.raises(DefinitionError):
        size_points(sizes)


def test_one_value_stands_for_a_tuple() -> None:
    assert thread_counts(2) == (2,)
    assert thread_counts([1, 2]) == (1, 2)
    assert device_names("cuda") == ("cuda",)
    assert device_names(None) == ()
    assert tag_names("quick") == ("quick",)


def test_tags_are_sorted_and_unique() -> None:
    assert tag_names(["b", "a", "b"]) == ("a", "b")


@pytest.mark.parametrize("devices", [3, ("cpu", "cpu"), ("",), ("cpu", 0)])
def test_bad_devices(devices: object) -> None:
    with pytest.raises(DefinitionError, match="devices"):
        device_names(devices)
