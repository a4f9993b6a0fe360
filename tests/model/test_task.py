from __future__ import annotations

import dataclasses

import pytest
import torch.utils.benchmark as torch_benchmark

from photometer.errors import DefinitionError, ResultsFileError
from photometer.model.records import from_record, to_record
from photometer.model.task import TASK_FIELDS, Language, TaskSpec

SPECS = [
    {"stmt": "x", "setup": "pass"},
    {"stmt": "x", "setup": "y = 1", "label": "L", "sub_label": "S", "description": "D", "env": "E", "num_threads": 4},
    {"stmt": "for i in x:\n    y", "setup": "a\nb", "sub_label": "S"},
    {"stmt": "for i in x:\n    y", "setup": ""},
    {"stmt": "x", "setup": "", "sub_label": "S", "description": "D"},
]


@pytest.mark.parametrize("fields", SPECS)
def test_texts_are_those_torch_makes(fields: dict[str, object]) -> None:
    ours, theirs = TaskSpec(**fields), torch_benchmark.TaskSpec(**fields)  # type: ignore[arg-type]
    assert ours.title == theirs.title
    assert ours.setup_str() == theirs.setup_str()
    assert ours.summarize() == theirs.summarize()


def test_fields_are_torchs_in_the_same_order() -> None:
    assert tuple(field.name for field in dataclasses.fields(torch_benchmark.TaskSpec)) == TASK_FIELDS


@pytest.mark.parametrize("fields", SPECS)
def test_json_round_trip(fields: dict[str, object]) -> None:
    spec = TaskSpec(**fields)  # type: ignore[arg-type]
    assert from_record(TaskSpec, to_record(spec)) == spec


def test_json_leaves_out_defaults() -> None:
    assert to_record(TaskSpec("x", "pass")) == {"stmt": "x"}


@pytest.mark.parametrize("record", [{}, {"stmt": 1}, {"stmt": "x", "num_threads": True}, {"stmt": "x", "env": 3}])
def test_bad_json_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(ResultsFileError, match="task_spec"):
        from_record(TaskSpec, record)


def test_unknown_fields_of_newer_files_are_ignored() -> None:
    assert from_record(TaskSpec, {"stmt": "x", "colour": "red"}) == TaskSpec("x", "pass")


def test_equal_specs_are_one_key() -> None:
    assert len({TaskSpec("x", "y"), TaskSpec("x", "y"), TaskSpec("x", "z")}) == 2


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
