"""`photometer flame` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.cli.flame import names_a_suite
from tests.photometer_command import photometer

pytestmark = pytest.mark.warm


@pytest.mark.parametrize(
    ("subject", "is_suite"),
    [
        ("overrides", True),
        ("my_suite.py", True),
        ("folder/my_suite.py:MORE", True),
        ("package.module:BENCHMARKS", True),
        ("torch.add(x, x)", False),
        ("x[1:2]", False),
        ("x + y", False),
        ("torch.ones(3)", False),
        ("@statement.py", False),
    ],
)
def test_suites_and_statements_are_distinct(subject: str, is_suite: bool) -> None:
    assert names_a_suite(subject) is is_suite


@pytest.mark.pyspy
def test_a_statement(tmp_path: Path) -> None:
    done = photometer(
        "flame", "f()", "-s", "def f(): return sum(range(999))", "--duration", "1", "--no-native", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "statement.svg\n"
    text = (tmp_path / "statement.svg").read_text()
    assert "f (snippet)" in text
    assert "serve_forks" not in text


@pytest.mark.pyspy
def test_a_case_of_a_suite_has_the_readmes_name(tmp_path: Path) -> None:
    done = photometer(
        "flame",
        *("overrides", "-k", "torch.add and WithTorchFunction and not Sub", "--duration", "1", "--no-native"),
        *("-o", "graphs"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "graphs").iterdir()] == ["overridden.svg"]
    assert "WithTorchFunction.__torch_function__ (snippet)" in (tmp_path / "graphs" / "overridden.svg").read_text()


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("overrides", "-k", "nobody"), 5, "nothing is selected"),
        (("overrides",), 2, "choose fewer"),
        (("overrides", "-s", "x = 1"), 2, "--setup is for a statement"),
        (("no_suite.py",), 1, "there is no file"),
        (("1 +",), 1, 'File "<stmt>", line 1'),
        (("1 / 0",), 1, "ZeroDivisionError"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], status: int, words: str, tmp_path: Path) -> None:
    done = photometer("flame", *arguments, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.lengthy
def test_a_timeline_needs_no_profiler_but_torchs(tmp_path: Path) -> None:
    done = photometer("flame", "x + 1", "-s", "x = torch.ones(4)", "--device", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["timeline-statement.html", "trace-statement.json"]
    assert "aten::add" in (tmp_path / "timeline-statement.html").read_text()
    refused = photometer("flame", "x + 1", "--device", "--png", cwd=tmp_path)
    assert refused.returncode == 2
