"""Revisions that do not run from their checkout: recognised, told with the remedy, and built if that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.environments.needs_build import needs_build, why_it_needs_a_build

NO_MODULE = "ModuleNotFoundError: No module named 'stones._core'"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("setup.py", "setup(ext_modules=[Extension('a', ['a.c'])])", "setup.py has ext_modules"),
        ("setup.py", "from torch.utils.cpp_extension import CppExtension", "setup.py has CppExtension"),
        ("pyproject.toml", '[build-system]\nbuild-backend = "scikit_build_core.build"', "with scikit-build-core"),
        ("pyproject.toml", '[build-system]\nbuild-backend = "mesonpy"', "with meson-python"),
        ("pyproject.toml", "[[tool.setuptools.ext-modules]]\nname = 'a'", "has ext-modules"),
        ("pyproject.toml", '[build-system]\nrequires = ["setuptools", "Cython>=3"]', "needs cython"),
        ("pyproject.toml", '[build-system]\nbuild-backend = "hatchling.build"', None),
        ("pyproject.toml", '[build-system]\nrequires = ["setuptools", "cmakelists"]', None),
        ("pyproject.toml", "[build-system", None),
        ("setup.py", "setup(packages=['stones'])", None),
    ],
)
def test_what_a_build_compiles_is_read_from_its_files(tmp_path: Path, name: str, text: str, told: str | None) -> None:
    (tmp_path / name).write_text(text)
    why = why_it_needs_a_build(tmp_path)
    assert (told in why) if told is not None and why is not None else why is told


def test_a_module_that_is_not_in_the_package(tmp_path: Path) -> None:
    assert needs_build("git:v1", tmp_path, NO_MODULE, "") is None
    (tmp_path / "src" / "stones").mkdir(parents=True)
    (tmp_path / "src" / "stones" / "__init__.py").write_text("")
    error = needs_build("git:v1", tmp_path, NO_MODULE, "the traceback")
    assert error is not None
    assert "git:v1 cannot be imported from its checkout" in str(error)
    assert "the package stones has no _core there" in str(error)
    for way in ('--install "pip install ."', 'install = "pip install ."', "--photometer-install"):
        assert way in str(error)


def test_other_failures_of_such_a_project_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("ext_modules = []")
    assert needs_build("git:v1", tmp_path, "ValueError: no", "") is None
    assert needs_build("git:v1", tmp_path, "ImportError: stones.so: undefined symbol: x", "") is not None
    assert needs_build("git:v1", tmp_path, "the test could not be collected", "E   ImportError: no _core") is not None
