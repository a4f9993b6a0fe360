"""Compare: measurements side by side, as tables.

The successor of torch.utils.benchmark.Compare, with its methods and layout, and more: ratios to a baseline, a mark on
cells without a proven difference, transposing, and Markdown, HTML, CSV and JSON.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from photometer.analysis.table import Colorize, RatioStyle, Reference, Table, TableRequest, transpose
from photometer.analysis.tabulate import CountFigure, tabled, tabulate
from photometer.errors import DefinitionError
from photometer.model.data_frame import data_frame
from photometer.model.measurement import Measurement
from photometer.report.escape import encodable
from photometer.report.plots import Plot, plot_tables
from photometer.report.tables.compare_formats import (
    CSV_FIELDS,
    cell_rows,
    render_csv,
    render_html,
    render_json,
    render_markdown,
)
from photometer.report.tables.compare_terminal import render_terminal

if TYPE_CHECKING:
    import pandas

__all__ = ["Colorize", "Compare"]

# In a file or a pipe a table has its natural width, up to what an editor can show.
WIDEST_WITHOUT_TERMINAL = 200


class Compare:
    """Tables of measurements: one per label, with one row per sub_label (or stmt) and one column per description.

    The methods that change how a table looks may be called in any order and at any time; results may be added later.
    """

    def __init__(self, results: Iterable[object]) -> None:
        """Take results of any kind, torch's own measurements among them.

        A device measurement has a column per mode. Counts of instructions are in tables of their own, after the times.
        """
        self._results: list[Measurement | CountFigure] = []
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False
        self._reference: Reference | None = None
        self._ratio_style: RatioStyle | None = None
        self._transposed = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[object]) -> None:
        """Add results; replicates of earlier ones are merged with them."""
        alone = hasattr(results, "KIND") or not isinstance(results, Iterable)
        self._results += [figure for result in ([results] if alone else results) for figure in tabled(result)]

    def trim_significant_figures(self) -> None:
        """Show only the digits that the measurement's confidence interval supports."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour cells by how they compare with the fastest of their column, or of their row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark doubtful measurements, and print remedies below the table."""
        self._highlight_warnings = True

    def baseline(self, row: str | None = None, *, env: str | None = None) -> None:
        """Choose the reference of cells, and mark (≈) those that are not significantly different from it.

        A row: that row of the same env. An env: the same row of that env. Both: that one row. Neither: the fastest of
        the column. Always within the same column and number of threads.
        """
        self._reference = Reference(row, env)

    def relative(self, to: str | None = None, *, env: str | None = None, style: RatioStyle = "×") -> None:
        """Show beside each time its ratio to the baseline (`to` is a row), as 1.25× or as +25.0%."""
        if style not in ("×", "%"):
            raise DefinitionError(f"unknown style {style!r}", remedy="Use '×' (1.25×) or '%' (+25.0%).")
        self._ratio_style = style
        if self._reference is None or to is not None or env is not None:
            self.baseline(to, env=env)

    def transpose(self) -> None:
        """Exchange rows and columns; a second call exchanges them back."""
        self._transposed = not self._transposed

    def tables(self) -> list[Table]:
        """Return the finished tables as data."""
        tables = tabulate(self._results, self._request())
        return [transpose(table) for table in tables] if self._transposed else tables

    def _request(self) -> TableRequest:
        return TableRequest(
            significant_figures=self._trim_significant_figures,
            warnings=self._highlight_warnings,
            colorize=self._colorize,
            reference=self._reference,
            ratio_style=self._ratio_style,
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        figures = len(self._results)
        return f"<photometer.Compare of {figures} result{'' if figures == 1 else 's'}>"

    def print(self) -> None:
        """Print the tables. Colours appear only if the output can show them and NO_COLOR is not set."""
        text = self.to_text(colour=shows_colour()) + "\n"
        sys.stdout.write(encodable(text, sys.stdout.encoding))

    def to_text(self, width: int | None = None, colour: bool = True) -> str:
        """Return the tables as `str()` does, at another width or without colour."""
        width = _available_width() if width is None else width
        return "\n".join(render_terminal(table, width, colour) for table in self.tables())

    def to_markdown(self) -> str:
        """Return the tables as GitHub-flavoured Markdown."""
        return "\n".join(render_markdown(table) for table in self.tables())

    def to_html(self) -> str:
        """Return a fragment for a page or a notebook."""
        return "\n".join(render_html(table) for table in self.tables())

    def to_csv(self) -> str:
        """Return one line per cell, with times in seconds."""
        return render_csv(self.tables())

    def to_json(self) -> str:
        """Return one document with all tables, with times in seconds."""
        return render_json(self.tables())

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per cell, and times in seconds. Needs pandas."""
        return data_frame(cell_rows(self.tables()), CSV_FIELDS)

    def plot(self) -> Plot:
        """Return a picture of the medians with their intervals, for a notebook or a file."""
        asked = dataclasses.replace(self._request(), reference=self._reference or Reference())
        return plot_tables(tabulate(self._results, asked))

    def _repr_html_(self) -> str:
        return self.to_html()


def _available_width() -> int:
    if os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return WIDEST_WITHOUT_TERMINAL


def shows_colour() -> bool:
    """Return whether the standard output can show colours and the user wants them."""
    if os.environ.get("NO_COLOR"):
        return False
    # The output of a notebook is not a terminal, but shows colours.
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR")) or "ipykernel" in sys.modules
