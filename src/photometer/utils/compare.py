"""What torch.utils.benchmark.utils.compare offers: tables, and the data they are made of."""

from photometer.analysis.table import Colorize, Table
from photometer.tables import Compare

__all__ = ["Colorize", "Compare", "Table"]
