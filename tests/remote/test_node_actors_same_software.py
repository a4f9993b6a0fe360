"""What a node must have in common with the driver, and how counts of nodes compare."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from photometer.errors import WorkerStartError
from photometer.model.machine import Machine, Node
from photometer.remote.node_actors import check_software, differing_counts
from photometer.remote.node_worker import NodeFacts
from tests.session.fake_session import FACTS

NODE = Node("a", Machine(cpu_model="A"), 2, counting_as=("ATEN_CPU_CAPABILITY=avx2",), c_library="glibc 2.36")


def there(**changes: Any) -> NodeFacts:
    return NodeFacts(NODE, (0, 1), dataclasses.replace(FACTS, **changes), "", "code", 1)


def test_the_same_torch_passes_whatever_its_processor_can() -> None:
    driver = dataclasses.replace(FACTS, build="x\n  - CPU capability usage: AVX512\ny")
    check_software(driver, "code", there(build="x\n  - CPU capability usage: AVX2\ny", torch_folder="/elsewhere"))


@pytest.mark.parametrize(
    "changes", [{"torch": "1.0"}, {"git_version": "f" * 40}, {"cuda": "99"}, {"debug": True}, {"build": "other"}]
)
def test_another_torch_is_an_error(changes: dict[str, Any]) -> None:
    with pytest.raises(WorkerStartError, match="a has a different torch than this machine"):
        check_software(FACTS, "code", there(**changes))


def test_another_photometer_is_an_error() -> None:
    with pytest.raises(WorkerStartError, match="a different photometer"):
        check_software(FACTS, "other code", there())


def test_counts_that_agree_need_no_word() -> None:
    assert differing_counts({"a": 5, "b": 5}, {"a": NODE, "b": NODE}) == []
    assert differing_counts({"a": 5}, {"a": NODE}) == []


def test_a_difference_is_said_with_its_cause() -> None:
    old = dataclasses.replace(NODE, name="b", counting_as=(), c_library="glibc 2.31")
    nodes = {"a": NODE, "b": old, "c": NODE}
    (said,) = differing_counts({"a": 1000, "b": 1010, "c": 1000}, nodes)
    assert said.startswith("b counts +10 instructions relative to 1,000 on a")
    assert "counting for: ATEN_CPU_CAPABILITY=avx2 and none" in said
    assert "C library: glibc 2.36 and glibc 2.31" in said
    assert differing_counts({"a": 1, "b": 2}, {"a": NODE, "b": NODE})[0].endswith("no known difference explains it")
