"""FixedList: a list that cannot be changed, for what was measured.

Code written for torch.utils.benchmark uses `raw_times` as a list: adds lists to it, compares it, sorts a copy. All that
works. What would change it is an error that says what to do.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NoReturn, TypeVar

_Item = TypeVar("_Item")


class FixedList(list[_Item]):
    """Equal to the list of the same items; `copy()`, `list(x)` and `x + [...]` give plain lists."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise dataclasses.FrozenInstanceError(
            "what was measured cannot be changed: change a copy, list(m.raw_times), "
            "or put measurements together with Measurement.merge"
        )

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __reduce__(self) -> tuple[type[FixedList[_Item]], tuple[list[_Item]]]:
        # Pickle and copy would otherwise append the items one by one.
        return FixedList, (list(self),)
