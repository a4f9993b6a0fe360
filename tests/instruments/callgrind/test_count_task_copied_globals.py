"""Globals on their way to the process that counts: every value arrives as it was, and nothing goes unasked."""

from __future__ import annotations

import cmath
import enum
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from photometer.errors import DefinitionError
from photometer.instruments.callgrind.count_task import copy_globals, globals_text
from photometer.model.copy_if_callgrind import CopyIfCallgrind


class Level(enum.IntEnum):
    LOW = 3


def arrived(folder: Path, **values: Any) -> dict[str, Any]:
    wrapped = {name: CopyIfCallgrind(value) for name, value in values.items()}
    namespace: dict[str, Any] = {"torch": torch}
    exec(globals_text(copy_globals(wrapped), folder), namespace)
    return {name: namespace[name] for name in values}


@pytest.mark.parametrize(
    "value", ['it\'s "quoted"\n\\', b"\x00'\xff", True, -(10**40), 0.1, -0.0, math.inf, 1 - 2j, complex(-0.0, math.inf)]
)
def test_builtin_values_arrive_unchanged(tmp_path: Path, value: Any) -> None:
    got = arrived(tmp_path, v=value)["v"]
    assert type(got) is type(value)
    assert repr(got) == repr(value)


def test_not_a_number_arrives(tmp_path: Path) -> None:
    got = arrived(tmp_path, f=math.nan, c=complex(math.nan, 1.0))
    assert math.isnan(got["f"])
    assert cmath.isnan(got["c"])
    assert got["c"].imag == 1.0


def test_subclasses_of_builtin_types_keep_their_class(tmp_path: Path) -> None:
    assert arrived(tmp_path, level=Level.LOW)["level"] is Level.LOW


def test_modules_and_torchscript_arrive(tmp_path: Path) -> None:
    module = torch.nn.Linear(3, 2)
    got = arrived(tmp_path, m=module, s=torch.jit.script(torch.nn.ReLU()))
    x = torch.randn(4, 3)
    assert torch.equal(got["m"](x), module(x))
    assert isinstance(got["s"], torch.jit.ScriptModule)
    assert torch.equal(got["s"](x), x.relu())


def test_setup_comes_before_its_value(tmp_path: Path) -> None:
    copied = copy_globals({"n": CopyIfCallgrind(1, setup="  import math\n  k = math.pi")})
    assert globals_text(copied, tmp_path).splitlines() == ["import math", "k = math.pi", "n = 1"]


def test_unmarked_values_are_refused_by_name() -> None:
    with pytest.raises(DefinitionError, match="'n'") as caught:
        copy_globals({"torch": torch, "__builtins__": {}, "n": 1})
    assert "CopyIfCallgrind(n)" in str(caught.value)


def test_another_torch_is_refused() -> None:
    with pytest.raises(ValueError, match="torch"):
        copy_globals({"torch": object()})


def test_a_module_that_cannot_be_pickled_is_told() -> None:
    class Local(torch.nn.Module):
        pass

    with pytest.raises(DefinitionError, match="'m'"):
        copy_globals({"m": CopyIfCallgrind(Local())})


def test_a_class_of_the_users_script_is_found_by_its_setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PhotometerTestModel(torch.nn.Module):
        pass

    PhotometerTestModel.__module__ = "__main__"
    PhotometerTestModel.__qualname__ = "PhotometerTestModel"
    main = sys.modules["__main__"]
    with monkeypatch.context() as as_a_script:
        as_a_script.setattr(main, "PhotometerTestModel", PhotometerTestModel, raising=False)
        copied = copy_globals({"m": CopyIfCallgrind(PhotometerTestModel(), setup="PhotometerTestModel = made")})
    namespace: dict[str, Any] = {"torch": torch, "made": PhotometerTestModel}
    try:
        exec(globals_text(copied, tmp_path), namespace)
        assert type(namespace["m"]) is PhotometerTestModel
    finally:
        vars(main).pop("PhotometerTestModel", None)
