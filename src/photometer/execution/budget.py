"""Budget: the seconds that a command may measure (--budget). They begin with the first measurement."""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """Seconds to measure in all; None is without end. What is being measured when they are over is finished."""

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end: float | None = None
        # Something was left out because no time was left.
        self.cut_short = False

    def begin(self) -> None:
        """Start the clock, unless it runs already."""
        if self._seconds is not None and self._end is None:
            self._end = self._clock() + self._seconds

    @property
    def is_spent(self) -> bool:
        return self._end is not None and self._clock() >= self._end
