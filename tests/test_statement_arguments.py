"""Mistakes in what users give end in words: no torch, no text, no whole number."""

from __future__ import annotations

import sys

import pytest

from photometer.errors import DefinitionError, ToolMissing
from photometer.statement_arguments import check_texts, checked_names, imported_torch, tidy, whole_number


def test_without_torch_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ToolMissing, match="pip install torch"):
        imported_torch()


def test_a_torch_that_lacks_a_module_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "torch":
                raise ModuleNotFoundError("No module named 'libfoo'", name="libfoo")

    for name in [name for name in sys.modules if name == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="libfoo"):
        imported_torch()


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
