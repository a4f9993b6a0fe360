"""Save and load results files.

    photometer.save("before.json", results)
    photometer.Compare(photometer.load("before.json"))

Every kind of result can be saved: measurements of the host or a device, counts, verdicts, and torch's own measurements.
For the machine's facts, raw records or damaged files, see model/results_file.py and results_reader.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from photometer.analysis.comparison_reader import OLD_HEADER_NAME, read_comparison
from photometer.analysis.comparison_result import ComparisonResult as ComparisonResult
from photometer.analysis.ranking import PairVerdict as PairVerdict
from photometer.errors import DefinitionError
from photometer.instruments.machine_facts import gather_machine
from photometer.model.machine import Machine as Machine
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.results_file import ResultsFile
from photometer.model.results_format import Recordable
from photometer.model.results_reader import Results, load_results
from photometer.model.torch_results import adopted
from photometer.model.visit import with_unfinished
from photometer.report.plots import Plot as Plot

if TYPE_CHECKING:
    import pandas

__all__ = [
    "ComparisonResult",
    "LoadedResults",
    "Machine",
    "PairVerdict",
    "Plot",
    "ResultsFile",
    "load",
    "make_report",
    "save",
]

_Noun = TypeVar("_Noun", bound=Recordable)

# Kinds that are what a comparison was judged by, not results of their own; the page and `--resume` read them.
EVIDENCE = frozenset({"comparison_replicate", "comparison_stacks", "comparison_failure", "comparison_skip"})


def save(path: str | Path, results: Any, *, append: bool = False) -> None:
    """Write one result or several, with the facts of this machine, replacing the file, or add them to it."""
    several = [record for result in _each(results) for record in _recordable(result)]
    if not append:
        ResultsFile.create(path, machine=gather_machine(), records=several, overwrite=True)
        return
    file = ResultsFile.open_or_create(path, machine=gather_machine())
    for record in several:
        file.append(record)


def load(path: str | Path, *, recover: bool = False) -> LoadedResults:
    """Return the results in a file, in its order. Nothing in it is executed; damage is an error that names the place.

    With `recover`, whole records of a damaged file are returned.
    """
    return LoadedResults(load_results(path, recover))


def make_report(files: str | Path | Sequence[str | Path], output: str | Path, *, title: str | None = None) -> Path:
    """Write one HTML page of results files, which opens offline. Return its path."""
    from photometer.model.whole_file import write_text_whole
    from photometer.report.page.page import render_report
    from photometer.report.page.view_report import report_view

    several = [files] if isinstance(files, str | Path) else list(files)
    page = Path(output)
    write_text_whole(page, render_report(report_view([with_unfinished(load_results(file)) for file in several], title)))
    return page


class LoadedResults(list[Any]):
    """The results of a file: a list of measurements, counts and verdicts, and the file's other content."""

    def __init__(self, results: Results) -> None:
        types = {kind: noun for kind, noun in record_types().items() if kind not in EVIDENCE}
        wanted = [(n, record) for n, record in enumerate(results.records, start=1) if record["kind"] in types]
        super().__init__(results.noun(number, types[record["kind"]]) for number, record in wanted)
        self._orders = [record.get("order") for _, record in wanted]
        if OLD_HEADER_NAME in results.header:
            compared = read_comparison(results)
            self.extend(() if compared is None else compared.results)
            self._orders = [None] * len(self)
        self._results = results

    @property
    def path(self) -> Path:
        """Return the file."""
        return self._results.path

    @property
    def machine(self) -> Machine | None:
        """Return the machine that the file was made on, if it says so."""
        return self._results.machine

    @property
    def header(self) -> Mapping[str, Any]:
        """Return the header of the file."""
        return self._results.header

    @property
    def records(self) -> tuple[Mapping[str, Any], ...]:
        """Return all records as they are in the file, including evidence and unknown kinds."""
        return self._results.records

    @property
    def kinds(self) -> Counter[str]:
        """Return the number of records of each kind."""
        return self._results.kinds

    @property
    def damage(self) -> tuple[str, ...]:
        """Return the places that `recover=True` skipped."""
        return self._results.damage

    def of(self, noun: type[_Noun]) -> list[_Noun]:
        """Return the nouns in the records of this kind; an error names the file, the record and the field."""
        return self._results.of(noun)

    @property
    def measurements(self) -> list[Measurement]:
        """Return the measurements by the host's clock, without results of other kinds."""
        return [result for result in self if isinstance(result, Measurement)]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per result; a suite's variants and sizes are columns. Needs pandas."""
        from photometer.analysis.result_rows import FIRST_COLUMNS, rows_of
        from photometer.model.data_frame import data_frame

        rows = (
            {**row, **_variant(order)}
            for result, order in zip(self, self._orders, strict=True)
            for row in rows_of(result)
        )
        return data_frame(rows, FIRST_COLUMNS)

    def variants_dataframe(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per variant of a run: sizes, time, rates, phases, metrics. Needs pandas."""
        from photometer.analysis.result_rows import FIRST_VARIANT_COLUMNS, variant_rows
        from photometer.model.data_frame import data_frame

        return data_frame(variant_rows(self._results.records_by_suite), FIRST_VARIANT_COLUMNS)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self._results.kinds.items() if kind not in EVIDENCE)
        return f"<photometer.LoadedResults of {str(self.path)!r}: {kinds or 'nothing'}>"

    def _repr_html_(self) -> str:
        from photometer.tables import Compare

        return Compare(each for each in self if not isinstance(each, Measurement) or each.raw_times).to_html()


def _each(results: Any) -> list[Any]:
    """Return one or several results as a list; a single result of some kinds can be iterated over, too."""
    if _is_result(results) or not isinstance(results, Iterable):
        return [results]
    return list(results)


def _is_result(value: Any) -> bool:
    from photometer.analysis.comparison_result import EnvironmentComparison
    from photometer.analysis.verdict import Verdict

    return hasattr(adopted(value), "KIND") or isinstance(value, EnvironmentComparison | Verdict | Mapping)


def _recordable(result: Any) -> list[Recordable | Mapping[str, Any]]:
    """Return the records of one result. An environment comparison has one record per benchmark."""
    from photometer.analysis.comparison_result import EnvironmentComparison
    from photometer.analysis.ranking import PairVerdict, rank_statements
    from photometer.analysis.verdict import Verdict

    result = adopted(result)
    if isinstance(result, EnvironmentComparison):
        return [*result.results, *result.failures, *result.skips]
    if isinstance(result, Verdict):
        return [rank_statements(("first", "second"), [PairVerdict("first", "second", result)])]
    if _is_result(result):
        return [result]
    raise DefinitionError(
        f"{type(result).__name__} is not a result that can be saved",
        remedy="Give what a Timer, ab or compare returns, or a list of these.",
    )


def _variant(order: Any) -> dict[str, Any]:
    """Return the columns of a suite's order: its variant, and one per size."""
    if not isinstance(order, Mapping):
        return {}
    from photometer.plan.auto_labels import AutoLabels

    auto = from_record(AutoLabels, order.get("auto")) if "auto" in order else None
    return {"order": order.get("id"), **({} if auto is None else auto.as_dict())}


def record_types() -> dict[str, type]:
    """Return the type of each kind of record, except "failure", which has no fixed type."""
    from photometer.analysis.comparison_result import (
        ComparisonFailure,
        ComparisonRemarks,
        ComparisonResult,
        ComparisonSkip,
    )
    from photometer.analysis.figure_change import MetricChange
    from photometer.analysis.ranking import Ranking
    from photometer.instruments.ladder import LadderStep
    from photometer.instruments.registry import INSTRUMENTS
    from photometer.instruments.speedup import Speedup
    from photometer.model.comparison_replicate import ComparisonReplicate
    from photometer.model.compile_report import CompileReport
    from photometer.model.device_measurement import DeviceMeasurement
    from photometer.model.fuzz_trial import FuzzTrial
    from photometer.model.instruction_counts import CallgrindStats, InstructionCounts
    from photometer.model.machine import Node
    from photometer.model.memory_measurement import MemoryMeasurement
    from photometer.model.packed_stacks import ComparisonStacks
    from photometer.model.run_figures import (
        EnergyOfRun,
        MachinePeak,
        ObservedMetrics,
        PhaseTimes,
        ProcessorCounts,
        WorkOfRun,
    )

    types = (
        Measurement,
        InstructionCounts,
        DeviceMeasurement,
        MemoryMeasurement,
        CompileReport,
        Speedup,
        ComparisonResult,
        ComparisonReplicate,
        ComparisonStacks,
        ComparisonFailure,
        ComparisonSkip,
        ComparisonRemarks,
        FuzzTrial,
        LadderStep,
        Ranking,
        CallgrindStats,
        ProcessorCounts,
        WorkOfRun,
        MachinePeak,
        ObservedMetrics,
        PhaseTimes,
        EnergyOfRun,
        MetricChange,
        Node,
    )
    return {noun.KIND: noun for noun in types} | {instrument.kind: instrument.record for instrument in INSTRUMENTS}


def results_schema() -> dict[str, Any]:
    """Return the JSON schema of results files, made from the types of their records.

    `scripts/write-schema` writes it to model/results.schema.json.
    """
    from photometer.model.machine import Machine
    from photometer.model.records import schemas_of
    from photometer.model.results_format import FORMAT, VERSION

    types = record_types()
    chosen_by_kind = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"$ref": f"#/$defs/{kind}"}} for kind in types
    ]
    kind = {"type": "string", "minLength": 1}
    record = {"type": "object", "required": ["kind"], "properties": {"kind": kind}, "allOf": chosen_by_kind}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"photometer results file, version {VERSION}",
        "description": "One JSON document with one record per line. Readers keep kinds and fields they do not know.",
        "type": "object",
        "required": ["format", "version", "records"],
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "machine": {"$ref": "#/$defs/machine"},
            "records": {"type": "array", "items": record},
        },
        "$defs": schemas_of([*types.values(), Machine]),
    }
