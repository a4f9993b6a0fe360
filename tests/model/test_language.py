from __future__ import annotations

import pytest
import torch.utils.benchmark as torch_benchmark

from photometer.errors import DefinitionError
from photometer.model.language import Language


@pytest.mark.parametrize("spelling", ["py", "Python", "PYTHON", Language.PYTHON, torch_benchmark.Language.PYTHON])
def test_python(spelling: object) -> None:
    assert Language.parse(spelling) is Language.PYTHON  # type: ignore[arg-type]


@pytest.mark.parametrize("spelling", ["cpp", "C++", Language.CPP, torch_benchmark.Language.CPP])
def test_cpp(spelling: object) -> None:
    assert Language.parse(spelling) is Language.CPP  # type: ignore[arg-type]


@pytest.mark.parametrize("spelling", ["rust", "", None, 3])
def test_others_are_an_error_with_the_choices(spelling: object) -> None:
    with pytest.raises(DefinitionError, match=r"python.*cpp"):
        Language.parse(spelling)  # type: ignore[arg-type]
