"""OpenForks: children that have opened an accelerator, kept from one replicate to the next.

Opening a device takes one to two seconds, more than a replicate. A child prepares the statement anew for each replicate
(fresh set-up, fresh blocks), so that only the process and its device context are shared; the sampler changes lanes to
vary those. The children of one lane at a time are kept: every context takes some hundred MB of the device's memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from photometer.errors import WorkerError
from photometer.instruments.replicate import Side
from photometer.session.child_process import ChildProcess
from photometer.session.session import ServerKind


class OpenForks:
    """Lends the children of a lane. They go when another lane is asked for, or when a session of theirs closes."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._lane: tuple[object, ...] | None = None
        self._children: list[ChildProcess] = []

    @contextlib.contextmanager
    def children(self, sides: Sequence[Side], kind: ServerKind, cores: Sequence[int]) -> Iterator[list[ChildProcess]]:
        """Yield a child per side. After an error of theirs they are not lent again."""
        lane = (*(id(side.session) for side in sides), kind, tuple(cores))
        if lane != self._lane:
            self.close()
            for side in sides:
                self._children.append(self._stack.enter_context(side.session.child(kind, cores)))
                side.session.until_closed.callback(self.close)
            self._lane = lane
        try:
            yield self._children
        except WorkerError:
            self.close()
            raise

    def close(self) -> None:
        self._lane, self._children = None, []
        self._stack.close()
