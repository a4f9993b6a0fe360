"""AbRequest: statements to compare, complete and checked. The function `ab` and the command both build one."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from photometer.analysis.judge import Criteria, default_margin
from photometer.comparing.contenders import Contender
from photometer.comparing.device_statements import DeviceSettings
from photometer.comparing.rank import Stopping
from photometer.errors import DefinitionError
from photometer.model.environment import Environment
from photometer.model.language import Language

# Seconds per statement after the first.
DEFAULT_BUDGET_SECONDS = 10.0
# An accelerator's clock is steadier than a host's: most verdicts are final after a second.
DEFAULT_DEVICE_BUDGET_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class AbRequest:
    """What to compare, and how; `device` is set if the times of an accelerator are wanted."""

    contenders: tuple[Contender, ...]
    stopping: Stopping
    language: Language = Language.PYTHON
    global_setup: str = ""
    num_threads: int = 1
    device: DeviceSettings | None = None
    environment: Environment | None = None
    seed: int | None = None
    id: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex, compare=False)

    def __post_init__(self) -> None:
        needs_objects = self.needs_this_process
        if self.language is Language.PYTHON and self.global_setup:
            raise DefinitionError("global_setup is for C++ only", remedy="Move it into `setup`.")
        if self.language is Language.CPP and needs_objects:
            raise DefinitionError("callables and globals are Python", remedy="Give the C++ statements as text.")
        if self.language is Language.CPP and self.device is not None:
            raise DefinitionError(
                "device time is measured only for Python statements", remedy="Wrap the C++ in an operator."
            )
        if self.environment is not None and (needs_objects or self.device is not None):
            raise DefinitionError(
                "callables, globals and device time are measured in this process, not in another environment",
                remedy="Give the statements as text, or leave `environment` out.",
            )

    @property
    def needs_this_process(self) -> bool:
        """Return whether a statement uses objects of this process: callables, globals."""
        return any(contender.names for contender in self.contenders)

    def header(self) -> dict[str, dict[str, Any]]:
        """Return the header of a results file."""
        return {
            "ab": {
                # The same wherever results are kept, so that a store that also gets the file has them once.
                "id": self.id,
                "statements": [contender.stmt for contender in self.contenders],
                "setups": [contender.setup for contender in self.contenders],
                "language": self.language.name.lower(),
                "num_threads": self.num_threads,
            }
        }


def default_budget(statements: int, device: str | None = None) -> float:
    each = DEFAULT_BUDGET_SECONDS if device is None else DEFAULT_DEVICE_BUDGET_SECONDS
    return each * max(statements - 1, 1)


def criteria_for(margin: float | None, num_threads: int) -> Criteria:
    return Criteria(margin=default_margin(num_threads) if margin is None else margin)
