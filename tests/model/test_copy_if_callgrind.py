from __future__ import annotations

import pytest

from photometer.errors import DefinitionError
from photometer.model.copy_if_callgrind import CopyIfCallgrind, Serialization


@pytest.mark.parametrize("value", ["text", b"bytes", True, 3, 2.5, 1j])
def test_plain_values_are_pickled(value: object) -> None:
    wrapped = CopyIfCallgrind(value, setup="import this")
    assert (wrapped.value, wrapped.setup, wrapped.serialization) == (value, "import this", Serialization.PICKLE)
    assert CopyIfCallgrind(value).setup is None


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, object(), len])
def test_other_values_are_refused_with_what_may_be_passed(value: object) -> None:
    with pytest.raises(DefinitionError, match=r"cannot be copied[\s\S]*`setup`.*nn\.Module"):
        CopyIfCallgrind(value)
    with pytest.raises(ValueError, match="cannot be copied"):
        CopyIfCallgrind(value)


@pytest.mark.lengthy
def test_modules_travel_by_torch_and_tensors_not_at_all() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(1, 1)
    assert CopyIfCallgrind(module).serialization is Serialization.TORCH
    assert CopyIfCallgrind(torch.jit.trace(module, torch.ones(1))).serialization is Serialization.TORCH_JIT
    with pytest.raises(DefinitionError, match="Tensor"):
        CopyIfCallgrind(torch.ones(1))


def test_unwrap_all() -> None:
    assert CopyIfCallgrind.unwrap_all({"a": CopyIfCallgrind(1), "b": [2]}) == {"a": 1, "b": [2]}
