"""What may follow `pip:`: requirements, files, places; and every mistake with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.environments.packages import PackageRequest, parse_packages
from photometer.environments.spec import parse_environment
from photometer.errors import EnvironmentSpecError


def parse(rest: str, folder: Path) -> PackageRequest:
    return parse_packages(rest, f"pip:{rest}", folder)


@pytest.mark.parametrize(
    ("rest", "lines"),
    [
        ("torch==2.12.1", ["torch==2.12.1"]),
        ("torch==2.13.0 numpy<2", ["torch==2.13.0", "numpy<2"]),
        # Quotes that the user's shell has left in place.
        ('"torch==2.13.0 numpy<2"', ["torch==2.13.0", "numpy<2"]),
        ("'torch >= 2.4, < 3' numpy", ["torch>=2.4,<3", "numpy"]),
        ("torch >= 2.4 numpy", ["torch>=2.4", "numpy"]),
        ("torch --index-url https://there/cpu", ["torch", "--index-url https://there/cpu"]),
        ("torch --index-url=https://there/cpu", ["torch", "--index-url https://there/cpu"]),
        ("torch -f https://there/cpu", ["torch", "--find-links https://there/cpu"]),
    ],
)
def test_words_become_lines_of_a_requirements_file(rest: str, lines: list[str], tmp_path: Path) -> None:
    assert [line.replace(" ", "") for line in parse(rest, tmp_path).lines] == [line.replace(" ", "") for line in lines]


def test_files_and_folders_are_named_in_full(tmp_path: Path) -> None:
    (tmp_path / "wanted.txt").write_text("torch\n")
    (tmp_path / "wheels").mkdir()
    request = parse("-r wanted.txt --find-links wheels", tmp_path)
    assert request.lines == (f"-r {tmp_path / 'wanted.txt'}", f"--find-links {tmp_path / 'wheels'}")
    assert request.files == (tmp_path / "wanted.txt",)


def test_another_content_of_the_file_is_another_request(tmp_path: Path) -> None:
    file = tmp_path / "wanted.txt"
    file.write_text("torch==2.12.1\n")
    before = parse("-r wanted.txt", tmp_path).digest()
    assert parse("-r wanted.txt", tmp_path).digest() == before
    file.write_text("torch==2.13.0\n")
    assert parse("-r wanted.txt", tmp_path).digest() != before


def test_a_wheel_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "torch-2.14-py3-none-any.whl").write_bytes(b"")
    request = parse("./torch-2.14-py3-none-any.whl", tmp_path)
    assert request.lines == (str(tmp_path / "torch-2.14-py3-none-any.whl"),)
    assert request.files == (tmp_path / "torch-2.14-py3-none-any.whl",)


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("", "names no package"),
        ("--pre", "names no package"),
        ("-c missing.txt torch", "there is no file"),
        ("-r", "is empty"),
        ("-r --pre", "is empty"),
        ("--target /x torch", "is not supported here"),
        ("-e .", "is not supported here"),
        ("./here", "cannot be kept"),
        ("gone.whl", "there is no file"),
        ("'torch", "quotation"),
        ("torch 'a\nb'", "line break"),
    ],
)
def test_mistakes_are_told(rest: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentSpecError, match=told):
        parse(rest, tmp_path)


def test_parts_are_joined(tmp_path: Path) -> None:
    spec = parse_environment("python:3.12 + pip:torch==2.12.1 + pip:torch numpy<2 --pre + env:A=1", tmp_path)
    assert spec.python_version == "3.12"
    assert spec.packages == PackageRequest(("torch==2.12.1", "torch", "numpy<2"), prereleases=True)
    assert spec.variables == (("A", "1"),)


@pytest.mark.parametrize("text", ["python:", "python:2.7", "python:three", "python:3.12 + python:3.13"])
def test_versions_that_cannot_be(text: str) -> None:
    with pytest.raises(EnvironmentSpecError, match="names"):
        parse_environment(text)
