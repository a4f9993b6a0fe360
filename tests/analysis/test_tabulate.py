from __future__ import annotations

import pytest

from photometer.analysis.table import Cell, Colorize, Reference, Standing, Table, TableRequest
from photometer.analysis.tabulate import merge_replicates, standing, tabulate
from photometer.errors import DefinitionError, MeasurementError
from photometer.model.diagnosis import Conditions
from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec
from tests.analysis.measurements import made


def by_name(table: Table) -> dict[tuple[int, str | None, str, str | None], Cell]:
    return {
        (block.num_threads, group.env, row.name, column): cell
        for block, group, row in table.rows()
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell is not None
    }


def test_one_table_a_label_in_the_order_first_seen() -> None:
    tables = tabulate([made(1, label="b"), made(1, label=None), made(1, label="a"), made(1, "s", label="b")])
    assert [table.label for table in tables] == ["b", None, "a"]


def test_nothing_makes_no_table() -> None:
    assert tabulate([]) == []


def test_rows_are_named_by_sub_label_else_stmt() -> None:
    [table] = tabulate([made(1, "s", stmt="x"), made(1, None, stmt="y")])  # type: ignore[arg-type]
    assert [row.name for _, _, row in table.rows()] == ["s", "y"]


def test_order_threads_ascend_and_environments_are_sorted_the_rest_is_as_first_seen() -> None:
    cells = [(4, "z"), (1, "z"), (1, "a"), (4, "a"), (1, None)]
    [table] = tabulate(
        [made(1, row, column, num_threads=n, env=env) for n, env in cells for row in "qp" for column in ("10", "9")]
    )
    assert table.columns == ("10", "9")
    assert [block.num_threads for block in table.blocks] == [1, 4]
    assert [group.env for group in table.blocks[0].groups] == [None, "a", "z"]
    assert [group.env for group in table.blocks[1].groups] == ["a", "z"]
    assert [row.name for row in table.blocks[0].groups[0].rows] == ["q", "p"]


def test_env_none_beside_a_named_env() -> None:
    [table] = tabulate([made(1, env=None), made(2, env="x")])
    assert set(by_name(table)) == {(1, None, "r", "c"), (1, "x", "r", "c")}
    assert table.has_envs


def test_missing_cells_are_none() -> None:
    [table] = tabulate([made(1, "a", "x"), made(1, "b", "y")])
    assert [[cell is None for cell in row.cells] for _, _, row in table.rows()] == [[False, True], [True, False]]


def test_replicates_are_merged() -> None:
    spec = made(1).task_spec
    [table] = tabulate([Measurement(1, [1.0], spec), Measurement(10, [20.0, 30.0], spec)])
    [cell] = table.cells()
    assert cell.samples == 3
    assert cell.value == 2.0


def test_one_without_replicates_keeps_what_it_knows() -> None:
    m = Measurement(1000, [1e-3] * 30, TaskSpec("x", "y"), conditions=Conditions(clock_resolution_seconds=1e-8))
    [merged] = merge_replicates([m])
    assert merged is m


def test_tasks_that_differ_only_in_setup_are_both_shown() -> None:
    [table] = tabulate([made(1, setup="n = 1"), made(2, setup="n = 2"), made(3, column="other", setup="n = 3")])
    cells = by_name(table)
    assert cells[1, None, "r", "c"].value == pytest.approx(1, rel=0.05)
    assert cells[1, None, "r (2)", "c"].value == pytest.approx(2, rel=0.05)
    assert (1, None, "r", "other") in cells


def test_unit_suits_the_smallest() -> None:
    [table] = tabulate([made(3e-6), made(2e-3, "slow")])
    assert (table.unit, table.unit_size) == ("us", 1e-6)


def test_a_measurement_without_samples_is_an_error() -> None:
    with pytest.raises(MeasurementError, match="no samples"):
        tabulate([Measurement(1, [], TaskSpec("x", "y"))])


def test_nothing_is_computed_that_was_not_asked_for() -> None:
    m = made(1)
    [table] = tabulate([m])
    assert next(table.cells()) == Cell(m.median, 40)
    assert "interval" not in m.__dict__
    assert "warnings" not in m.__dict__


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1.0, Standing.BEST),
        (1.01, Standing.BEST),
        (1.05, Standing.GOOD),
        (1.5, Standing.MIDDLING),
        (2.0, Standing.BAD),
        (5.0, Standing.VERY_BAD),
    ],
)
def test_standing(seconds: float, expected: Standing) -> None:
    assert standing(seconds, 1.0) is expected


def test_standings_run_across_rows_and_envs_but_not_descriptions_or_threads() -> None:
    measurements = [
        made(1, "a", "x", env="e"),
        made(3, "b", "x", env="f"),
        made(30, "a", "y", env="e"),
        made(90, "b", "y", env="f"),
        made(300, "a", "x", env="e", num_threads=2),
    ]
    [table] = tabulate(measurements, TableRequest(colorize=Colorize.COLUMNWISE))
    found = {key: cell.standing for key, cell in by_name(table).items()}
    assert found == {
        (1, "e", "a", "x"): Standing.BEST,
        (1, "f", "b", "x"): Standing.BAD,
        (1, "e", "a", "y"): Standing.BEST,
        (1, "f", "b", "y"): Standing.BAD,
        (2, "e", "a", "x"): Standing.BEST,
    }
    [table] = tabulate(measurements, TableRequest(colorize=Colorize.ROWWISE))
    assert by_name(table)[1, "e", "a", "y"].standing is Standing.VERY_BAD
    assert by_name(table)[1, "f", "b", "x"].standing is Standing.BEST


def ratios(reference: Reference, *measurements: Measurement) -> dict[tuple[str | None, str], float | None]:
    [table] = tabulate(measurements, TableRequest(reference=reference, ratio_style="×"))
    return {(env, name): cell.ratio and round(cell.ratio, 1) for (_, env, name, _), cell in by_name(table).items()}


FOUR = tuple(
    made(t, row, env=env, spread=1e-4) for t, row, env in [(1, "a", "e"), (2, "b", "e"), (4, "a", "f"), (16, "b", "f")]
)


def test_ratio_to_each_kind_of_reference() -> None:
    keys = [("e", "a"), ("e", "b"), ("f", "a"), ("f", "b")]
    assert ratios(Reference(), *FOUR) == dict(zip(keys, [1, 2, 4, 16], strict=True))
    assert ratios(Reference(row="b"), *FOUR) == dict(zip(keys, [0.5, 1, 0.2, 1], strict=True))
    assert ratios(Reference(env="e"), *FOUR) == dict(zip(keys, [1, 1, 4, 8], strict=True))
    assert ratios(Reference("b", "e"), *FOUR) == dict(zip(keys, [0.5, 1, 2, 8], strict=True))


def test_no_ratio_where_the_reference_has_no_cell() -> None:
    assert ratios(Reference(row="b"), *FOUR[:3])["f", "a"] is None


def test_unknown_reference_lists_what_there_is() -> None:
    with pytest.raises(DefinitionError, match=r"(?s)row 'nix'.*'a', 'b'"):
        ratios(Reference(row="nix"), *FOUR)
    with pytest.raises(DefinitionError, match=r"(?s)env 'nix'.*'e', 'f'"):
        ratios(Reference(env="nix"), *FOUR)


def test_a_reference_may_be_missing_from_some_tables() -> None:
    tables = tabulate([made(1, "a", label="1"), made(1, "b", label="2")], TableRequest(reference=Reference(row="a")))
    assert [cell.ratio for table in tables for cell in table.cells()] == [1.0, None]


def test_intervals_that_overlap_are_marked() -> None:
    same, other = made(1.0, "same", spread=0.05), made(1.5, "other", spread=0.05)
    [table] = tabulate([made(1.0, "base", spread=0.05), same, other], TableRequest(reference=Reference(row="base")))
    cells = by_name(table)
    assert not cells[1, None, "base", "c"].overlaps_reference
    assert cells[1, None, "base", "c"].is_reference
    assert cells[1, None, "same", "c"].overlaps_reference
    assert not cells[1, None, "other", "c"].overlaps_reference


def test_a_single_sample_proves_no_difference() -> None:
    [table] = tabulate([made(1, "a"), made(9, "b", samples=1)], TableRequest(reference=Reference()))
    assert by_name(table)[1, None, "b", "c"].overlaps_reference


def test_warnings_and_digits_where_asked() -> None:
    [table] = tabulate([made(1, spread=0.5)], TableRequest(warnings=True, significant_figures=True))
    [cell] = table.cells()
    assert cell.warnings
    assert cell.spread is not None
    assert cell.spread > 0.1
    assert cell.significant_figures == 1


def test_times_of_zero() -> None:
    zero = Measurement(1, [0.0] * 10, TaskSpec("x", "y"))
    request = TableRequest(True, True, Colorize.COLUMNWISE, Reference(), "×")
    [table] = tabulate([zero], request)
    [cell] = table.cells()
    assert cell.ratio is None
    assert cell.standing is Standing.BEST
