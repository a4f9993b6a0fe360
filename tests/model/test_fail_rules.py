"""What may be written after --fail-on, and what is refused with a remedy."""

from __future__ import annotations

import pytest

from photometer.errors import DefinitionError
from photometer.model.fail_rules import FailRule, parse_rules, parse_share


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("slower", [FailRule("slower")]),
        ("slower:5%", [FailRule("slower", 0.05)]),
        ("slower:0.05", [FailRule("slower", 0.05)]),
        ("instructions:1%, memory:0", [FailRule("instructions", 0.01), FailRule("memory")]),
        ("memory:64KiB", [FailRule("memory", size_bytes=65536)]),
        ("memory:4096", [FailRule("memory", size_bytes=4096)]),
        ("memory:0.5%", [FailRule("memory", 0.005)]),
        ("undecided", [FailRule("undecided")]),
        ("recompile, graph-break", [FailRule("recompile"), FailRule("graph-break")]),
        ("never", []),
    ],
)
def test_rules(text: str, rules: list[FailRule]) -> None:
    assert list(parse_rules([text])) == rules


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("faster", "there is no rule"),
        ("slower:5", "more than 100 %"),
        ("slower:", "no threshold"),
        ("slower:-5%", "no threshold"),
        ("slower:64KiB", "only memory"),
        ("undecided:5%", "has no threshold"),
        ("recompile:1", "has no threshold"),
        ("never,slower", "never cannot be joined"),
        ("slower,slower:5%", "two rules for slower"),
        ("slower:1e9%", "no threshold"),
    ],
)
def test_what_is_refused(text: str, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        parse_rules([text])


def test_shares() -> None:
    assert parse_share("0.3%") == pytest.approx(0.003)
    assert (parse_share(0.003), parse_share("0")) == (0.003, 0.0)


@pytest.mark.parametrize("rule", ["slower:5%", "instructions", "memory:1.5MiB"])
def test_a_rule_is_written_as_it_is_read(rule: str) -> None:
    (parsed,) = parse_rules([rule])
    assert parse_rules([str(parsed)]) == (parsed,)
