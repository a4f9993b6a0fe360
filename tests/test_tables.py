from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import torch.utils.benchmark as torch_benchmark

from photometer.errors import DefinitionError
from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec
from photometer.tables import Colorize, Compare
from tests.analysis.measurements import made
from tests.analysis.verdicts import comparison, result

FOUR = [
    made(t, row, column, spread=0.001)
    for t, row, column in [(1, "a", "x"), (3, "b", "x"), (9, "a", "y"), (2, "b", "y")]
]


def torchs(m: Measurement) -> torch_benchmark.Measurement:
    spec = {name: getattr(m.task_spec, name) for name in TaskSpec.__dataclass_fields__}
    return torch_benchmark.Measurement(m.number_per_run, list(m.raw_times), torch_benchmark.TaskSpec(**spec))


def squeezed(text: str) -> list[str]:
    """The lines with padding and rules taken out: what remains is what the table says."""
    lines = (re.sub(r"-{2,}", "-", re.sub(r"\s+", " ", line)).strip(" |") for line in text.splitlines())
    return [line for line in lines if line]


@pytest.mark.parametrize("envs", [[None], ["a", "b"]])
@pytest.mark.parametrize("threads", [[1], [1, 8]])
def test_a_plain_table_says_what_torchs_says(envs: list[str | None], threads: list[int]) -> None:
    measurements = [
        made((i + 2) * (j + 1) * 1e-6, row, column, env=env, num_threads=n)
        for env in envs
        for n in threads
        for i, row in enumerate(["add", "a longer name"])
        for j, column in enumerate(["size: 1", "size: 10"])
    ]
    theirs = torch_benchmark.Compare([torchs(m) for m in measurements])
    assert squeezed(str(Compare(measurements))) == squeezed(str(theirs))


def test_only_measurements_are_taken() -> None:
    with pytest.raises(ValueError, match="not int"):
        Compare([1])
    compare = Compare(FOUR)
    before = str(compare)
    with pytest.raises(DefinitionError):
        compare.extend_results([made(1, "new"), "x"])
    assert str(compare) == before


def test_results_can_be_added_and_replicates_merge() -> None:
    compare = Compare([FOUR[0]])
    compare.extend_results(iter([FOUR[0], FOUR[1]]))
    assert "3.0" in str(compare)
    [table] = compare.tables()
    assert next(table.cells()).samples == 2 * len(FOUR[0].raw_times)


def test_sides_of_a_comparison_are_columns_of_their_own() -> None:
    results = (result("slower", 2.0, "add"), result("slower", 3.0, "add", side=2))
    rows = json.loads(Compare([comparison(*results, names=("v1", "v2", "v3"))]).to_json())
    text = json.dumps(rows)
    assert [name in text for name in ("v1", "v2", "v3", "branch")] == [True, True, True, False]
    # A file's results do not have the names; no two of its sides may be merged.
    alone = Compare(results).to_text()
    assert all(word in alone for word in ("base", "branch", "side 2", "2.0", "3.0"))
    assert "branch" in Compare([comparison(results[0])]).to_text()


def test_no_results_are_an_empty_text() -> None:
    assert str(Compare([])) == ""


def test_methods_that_change_the_look_return_nothing_as_in_torch() -> None:
    compare = Compare(FOUR)
    assert compare.trim_significant_figures() is None  # type: ignore[func-returns-value]
    assert compare.colorize() is None  # type: ignore[func-returns-value]
    assert compare.highlight_warnings() is None  # type: ignore[func-returns-value]


def test_colorize_by_column_and_by_row() -> None:
    compare = Compare(FOUR)
    assert "\033" not in str(compare)
    compare.colorize()
    by_column = str(compare)
    compare.colorize(rowwise=True)
    assert "\033" in by_column
    assert str(compare) != by_column
    assert {member.value for member in Colorize} == {member.value for member in torch_benchmark.Colorize}


def test_relative_and_baseline() -> None:
    compare = Compare(FOUR)
    compare.relative()
    assert "(3.00×)" in str(compare)
    compare.relative("b", style="%")
    assert "(base)" in str(compare)
    assert re.search(r"\(-66\.\d%\)", str(compare))
    compare.baseline("a")
    assert re.search(r"\(\+\d{3}%\)", str(compare))
    with pytest.raises(DefinitionError, match="style"):
        compare.relative(style="percent")  # type: ignore[arg-type]


def test_baseline_alone_marks_what_is_not_different() -> None:
    compare = Compare([made(1, "a", spread=0.1), made(1, "b", spread=0.1), made(5, "c", spread=0.1)])
    compare.baseline("a")
    lines = str(compare).splitlines()
    assert sum("(≈)" in line for line in lines) == 2
    assert any("intervals overlap" in line for line in lines)


def test_transpose_turns_and_turns_back() -> None:
    compare = Compare(FOUR)
    before = str(compare)
    compare.transpose()
    assert re.search(r"^  x +\|", str(compare), re.MULTILINE)
    compare.transpose()
    assert str(compare) == before


def test_print_colours_only_where_they_show(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # a test of notebooks may have imported it
    compare = Compare(FOUR)
    compare.colorize()
    compare.print()
    assert "\033" not in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    compare.print()
    assert capsys.readouterr().out == str(compare) + "\n"
    monkeypatch.setenv("NO_COLOR", "1")
    compare.print()
    assert "\033" not in capsys.readouterr().out


def test_width_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Compare([made(1, "row", f"column {i}") for i in range(30)])
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, str(wide).splitlines())) <= 60
    monkeypatch.delenv("COLUMNS")
    assert 60 < max(map(len, str(wide).splitlines())) <= 200


def test_every_form_has_every_number() -> None:
    compare = Compare(FOUR)
    for text in (compare.to_text(), compare.to_markdown(), compare.to_html()):
        for value in ("1.0", "3.0", "9.0", "2.0"):
            assert value in text
    assert compare._repr_html_() == compare.to_html()
    assert len(compare.to_csv().splitlines()) == 5
    assert len(json.loads(compare.to_json())["tables"]) == 1


def test_a_table_is_made_without_numpy_or_torch() -> None:
    code = (
        "import sys\n"
        "from photometer import Compare, EnvironmentComparison, Measurement, Ranking, TaskSpec\n"
        "table = str(Compare([Measurement(1, [1.0, 1.1, 1.2], TaskSpec('x + 1'))]))\n"
        "assert 'x + 1' in table\n"
        "sys.exit(', '.join({'numpy', 'scipy', 'torch', 'rich', 'pandas'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
