"""HTML for notebooks: what a result shows at the end of a cell.

In: one of the records. Out: a fragment without script and without outside resources. Text from users is escaped.
"""

from photometer.report.notebook.measurement import counts_html, device_html, measurement_html
from photometer.report.notebook.memory import memory_html
from photometer.report.notebook.verdict import comparison_html, ranking_html, result_html, verdict_html

__all__ = [
    "comparison_html",
    "counts_html",
    "device_html",
    "measurement_html",
    "memory_html",
    "ranking_html",
    "result_html",
    "verdict_html",
]
