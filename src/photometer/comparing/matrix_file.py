"""The results file of a comparison of many sides: sides and settings in the header, one record per benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from photometer.analysis.matrix_result import MatrixComparison, MatrixRow
from photometer.errors import ResultsFileError
from photometer.instruments.machine_facts import gather_machine
from photometer.model.machine import Machine
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import Results

HEADER_NAME = "matrix"


def save_matrix(path: Path, matrix: MatrixComparison) -> Machine:
    """Write the file, and return the machine in its header."""
    machine = gather_machine()
    header = {
        "sides": list(matrix.names),
        "suite": matrix.suite,
        "warnings": list(matrix.warnings),
        "margin": matrix.margin,
        "false_discovery_rate": matrix.false_discovery_rate,
        "measuring_seconds": matrix.measuring_seconds,
    }
    ResultsFile.create(path, {HEADER_NAME: header}, machine=machine, records=matrix.rows)
    return machine


def matrix_of(results: Results) -> MatrixComparison | None:
    """Return the comparison in a file; None if it contains something else."""
    header = results.header.get(HEADER_NAME)
    if not isinstance(header, Mapping):
        return None
    names, rows = header.get("sides"), results.of(MatrixRow)
    if not isinstance(names, list) or any(len(row.cells) != len(names) - 1 for row in rows):
        raise ResultsFileError(
            f"{results.path}: its rows do not match the sides in its header", remedy="Compare again."
        )
    warnings = header.get("warnings")
    return MatrixComparison(
        names=tuple(map(str, names)),
        suite=str(header.get("suite", "")),
        rows=tuple(rows),
        warnings=tuple(map(str, warnings)) if isinstance(warnings, list) else (),
        margin=_number(header.get("margin")),
        false_discovery_rate=_number(header.get("false_discovery_rate")),
        measuring_seconds=_number(header.get("measuring_seconds")),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
