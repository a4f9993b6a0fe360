"""The seed of random data that a user may choose, checked."""

from __future__ import annotations

import operator
from typing import Any

from photometer.errors import DefinitionError
from photometer.worker.seeds import LARGEST_SEED


def checked_seed(seed: Any) -> int | None:
    """Return the seed as an int; None if none was chosen. numpy's integers are welcome, text and fractions are not."""
    if seed is None:
        return None
    try:
        number = operator.index(seed)
    except TypeError:
        raise DefinitionError(
            f"seed must be a whole number, not {type(seed).__name__}", remedy="Give an int, such as 1."
        ) from None
    if not 0 <= number <= LARGEST_SEED:
        raise DefinitionError(f"seed {number} is out of range", remedy="Give a whole number from 0 to 2**32 - 1.")
    return number
