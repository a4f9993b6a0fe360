"""Set the size of torch's thread pool for a while, and always restore it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .torch_here import find_torch


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Run the body with `n` torch threads, if there is torch; the former number is restored, after an exception too."""
    torch = find_torch()
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    # Setting the same number again is not free: it can restart the pool.
    if before != n:
        torch.set_num_threads(n)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)
