"""Rows as a pandas DataFrame, for `to_dataframe()`. pandas is an extra, and is imported when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from photometer.errors import ToolMissing

if TYPE_CHECKING:
    import pandas


def data_frame(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] = ()) -> pandas.DataFrame:
    """Return one line per row. `columns` stand first, and are there if there are no rows."""
    try:
        import pandas
    except ImportError as error:
        raise ToolMissing(
            "to_dataframe needs pandas, which is not installed here",
            remedy="Install it: pip install photometer[pandas].",
        ) from error
    found = list(rows)
    names = dict.fromkeys([*columns, *(name for row in found for name in row)])
    return pandas.DataFrame(found, columns=list(names))
