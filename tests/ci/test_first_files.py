"""`photometer init`: what it finds without running anything, what it writes, and that it overwrites nothing."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from photometer.ci.first_files import find_code, find_packages, plan_first_files, write_first_files
from photometer.ci.project import read_project
from photometer.definition import load_suite
from photometer.plan import materialize
from tests.photometer_command import photometer
from tests.repositories import git

OPS = """
import torch
raise RuntimeError("never run by init")


def gate(x: torch.Tensor, y: "torch.Tensor", scale: float = 1.0) -> torch.Tensor: ...
def load(path): ...
def _private(x: torch.Tensor): ...
def keyword(x: torch.Tensor, *, mode): ...


class Block(torch.nn.Module): ...
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "tinynet"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "ops.py").write_text(OPS)
    (package / "broken.py").write_text("import torch\ndef (")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "tinynet"')
    git(tmp_path, "init", "-q")
    return tmp_path


def test_functions_of_tensors_are_found_without_running_them(project: Path) -> None:
    packages = find_packages(project)
    assert [package.name for package in packages] == ["tinynet"]
    found = {code.name: code.tensors for code in find_code(packages)}
    assert found == {"gate": ("x", "y"), "load": None, "keyword": None, "Block": None}


def test_what_is_written_can_be_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan_first_files(project, {})
    assert [(file.path, file.appends) for file in planned.files] == [
        ("benchmarks/suite.py", False),
        ("pyproject.toml", True),
        (".github/workflows/benchmarks.yml", False),
        (".github/workflows/benchmarks-comment.yml", False),
    ]
    write_first_files(planned)
    settings = read_project(project)
    assert settings.suite == str(project / "benchmarks" / "suite.py")
    (order,) = materialize(load_suite(settings.suite))
    assert order.label == ("tinynet.ops", "gate")
    assert order.args.stmt == "gate(x, y)"
    assert order.args.setup.startswith("from tinynet.ops import gate; x = ")
    assert (project / "pyproject.toml").read_text().startswith('[project]\nname = "tinynet"\n\n[tool.photometer]\n')
    workflow = yaml.safe_load((project / ".github/workflows/benchmarks.yml").read_text())
    # YAML reads the key `on` as true.
    assert workflow[True]["push"]["branches"] == ["main"]
    assert [step.get("uses", step.get("run")) for step in workflow["jobs"]["compare"]["steps"]][-1].startswith(
        "photometer"
    )
    comment = yaml.safe_load((project / ".github/workflows/benchmarks-comment.yml").read_text())
    assert comment[True]["workflow_run"]["workflows"] == [workflow["name"]]
    # The workflow with a token must not run anything of the fork's.
    assert not any("checkout" in str(step) for step in comment["jobs"]["comment"]["steps"])

    again = plan_first_files(project, {})
    assert again.files == ()
    assert len(again.remarks) == 3


@pytest.mark.parametrize("branch", ["it's,#a", '"],x', "{a}", "2026", "no", "c++", "!main", "a]", "ähm"])
def test_a_branch_of_any_name_is_one_name_in_the_workflow(project: Path, branch: str) -> None:
    git(project, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    (text,) = (file.text for file in plan_first_files(project, {}).files if file.path.endswith("benchmarks.yml"))
    (pattern,) = yaml.safe_load(text)[True]["push"]["branches"]
    assert pattern.replace("\\", "") == branch
    assert not set("!+") & set(re.sub(r"\\.", "", pattern))


@pytest.mark.parametrize("name", ['q"""; import os; os.abort() #', "back\\", "\\N{nope}", 'a": os.abort(), "b'])
def test_names_of_folders_and_files_do_not_become_code(tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    (root / name).mkdir(parents=True)
    (root / name / "__init__.py").touch()
    (root / "fine").mkdir()
    for file in (root / name / "ops.py", root / "fine" / f"{name}.py"):
        file.write_text(OPS)
    for with_package in (False, True):
        if with_package:
            (root / "fine" / "__init__.py").touch()
        suite = plan_first_files(root, {}).files[0].text
        assert name not in suite
        assert "abort" not in suite
        assert [type(node).__name__ for node in ast.parse(suite).body] == ["Expr", "ImportFrom", "Assign"]


def test_the_suite_runs_if_functions_hide_their_module_or_have_the_name_of_an_argument(tmp_path: Path) -> None:
    package = tmp_path / "hidingnet"
    package.mkdir()
    (package / "score.py").write_text(
        "import torch\n\ndef score(x: torch.Tensor): return x\n\ndef shift(shift: torch.Tensor): return shift\n"
    )
    (package / "__init__.py").write_text("from hidingnet.score import score, shift\n")
    git(tmp_path, "init", "-q")
    write_first_files(plan_first_files(tmp_path, {}))
    checked = photometer("check", "benchmarks/suite.py", "--no-keep", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_nothing_is_overwritten(project: Path) -> None:
    planned = plan_first_files(project, {})
    (project / "benchmarks").mkdir()
    (project / "benchmarks" / "suite.py").write_text("mine")
    with pytest.raises(ValueError, match="already exists"):
        write_first_files(planned)
    assert (project / "benchmarks" / "suite.py").read_text() == "mine"
    assert plan_first_files(project, {}).files[0].path == "benchmarks/photometer_suite.py"


def test_gitlab_and_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").touch()
    planned = plan_first_files(tmp_path, {})
    paths = [file.path for file in planned.files]
    assert paths == ["benchmarks/suite.py", "pyproject.toml", ".gitlab/benchmarks.yml"]
    job = yaml.safe_load(planned.files[-1].text)
    assert job["benchmarks"]["artifacts"]["reports"] == {"junit": "junit.xml", "metrics": "metrics.txt"}
    assert any("not a git repository" in remark for remark in planned.remarks)
    assert any(".gitlab-ci.yml" in remark for remark in planned.remarks)


@pytest.mark.lengthy
def test_the_command_shows_and_asks_before_it_writes(project: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return photometer(*arguments, cwd=project)

    shown = run("init")
    assert shown.returncode == 0, shown.stderr
    assert "new benchmarks/suite.py" in shown.stdout
    assert "add to pyproject.toml" in shown.stdout
    assert "Nothing was written" in shown.stderr
    assert not (project / "benchmarks").exists()
    assert run("init", "--yes").returncode == 0
    assert run("init", "--yes").returncode == 5
    # Commands take the project's suite if none is named, and its own is one of them.
    listed = run("list", "--json")
    assert listed.returncode == 0, listed.stderr
    assert json.loads(listed.stdout.splitlines()[0])["label"] == ["tinynet.ops", "gate"]
    assert run("list", "standard", "-k", "quick and matmul").returncode in (0, 5)
