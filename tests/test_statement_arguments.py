"""Mistakes in what users give end in words: no text, no whole number."""

from __future__ import annotations

import pytest

from photometer.errors import DefinitionError
from photometer.statement_arguments import check_texts, checked_names, tidy, whole_number


def test_wrong_kinds_are_refused() -> None:
    with pytest.raises(DefinitionError, match="expected text"):
        tidy(3)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="whole number"):
        whole_number("number", 1.5)
    with pytest.raises(DefinitionError, match="at least 1"):
        whole_number("number", 0)
    with pytest.raises(DefinitionError, match="label must be text"):
        check_texts(label=3)
    with pytest.raises(DefinitionError, match="dict of names"):
        checked_names([1])
    assert checked_names(None) == {}
