"""WorkOrder: one thing to measure, complete in itself, and WorkOrders: all of a suite, with the models they load.

It crosses process lines as JSON. Its id is a hash of its content: the same order has the same id in every process and
in every run, which is what `--resume` and comparisons go by.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from photometer.definition.suite import content_hash
from photometer.definition.timer_args import TimerArgs
from photometer.errors import DefinitionError
from photometer.plan.auto_labels import AutoLabels

Label = tuple[str, ...]

# The slowest order of the standard suite needs seconds, also under Valgrind; a compiled one may compile for a minute.
DEFAULT_TIMEOUT_SECONDS = 120.0
# A crash or a time-out is now and then the machine's doing; twice in a row it is the benchmark's.
DEFAULT_RETRIES = 1


@dataclasses.dataclass(frozen=True)
class ScriptingJob:
    """The text of a module that makes `jit_model`. Who runs it saves that to a file once and fills in its path."""

    id: str
    source: str

    @property
    def placeholder(self) -> str:
        """What stands for the file's path in the set-up of the orders that load it."""
        return f"@photometer-model:{self.id}@"

    @classmethod
    def of(cls, source: str) -> ScriptingJob:
        return cls(content_hash(source), source)


@dataclasses.dataclass(frozen=True)
class WorkOrder:
    """What to run, for how long at most, and how often to try again. `model_id` names the ScriptingJob it loads."""

    id: str
    label: Label
    auto: AutoLabels
    args: TimerArgs
    tags: tuple[str, ...] = ()
    model_id: str | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    retries: int = DEFAULT_RETRIES

    @property
    def title(self) -> str:
        """Label and what sets the variant apart, in one line."""
        return f"{' › '.join(self.label)} [{', '.join(str(value) for value in self.auto.as_dict().values())}]"

    @property
    def short_title(self) -> str:
        """Label, language, and what sets the variant apart from the plainest."""
        return f"{' › '.join(self.label)} [{', '.join([self.auto.words()[2], *self.auto.unusual_words()])}]"

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "label": list(self.label),
            "auto": self.auto.to_json(),
            "args": self.args.to_json(),
            "tags": list(self.tags),
            "model_id": self.model_id,
            "timeout_seconds": self.timeout_seconds,
            "retries": self.retries,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> WorkOrder:
        return cls(
            id=record["id"],
            label=tuple(record["label"]),
            auto=AutoLabels.from_json(record["auto"]),
            args=TimerArgs.from_json(record["args"]),
            tags=tuple(record["tags"]),
            model_id=record["model_id"],
            timeout_seconds=record["timeout_seconds"],
            retries=record["retries"],
        )

    def with_model_path(self, path: str) -> WorkOrder:
        """The order with the saved model's file in the place of its placeholder."""
        if self.model_id is None:
            return self
        # The path goes into a string literal of both languages, as it is.
        if re.search(r'["\\\n]', path):
            raise DefinitionError(
                f"the folder of scripted models has a quote or backslash in its path: {path}",
                remedy="Choose another folder.",
            )
        setup = self.args.setup.replace(f"@photometer-model:{self.model_id}@", path)
        return dataclasses.replace(self, args=dataclasses.replace(self.args, setup=setup, check=False))


@dataclasses.dataclass(frozen=True)
class WorkOrders:
    """The plan of a suite: its orders, in the order of the suite, and the models to be scripted first."""

    suite: str
    fingerprint: str
    orders: tuple[WorkOrder, ...]
    scripting_jobs: tuple[ScriptingJob, ...] = ()

    def __iter__(self) -> Iterator[WorkOrder]:
        return iter(self.orders)

    def __len__(self) -> int:
        return len(self.orders)

    def only(self, orders: tuple[WorkOrder, ...]) -> WorkOrders:
        """The plan with some of its orders, and the models that those still need."""
        needed = {order.model_id for order in orders}
        jobs = tuple(job for job in self.scripting_jobs if job.id in needed)
        return dataclasses.replace(self, orders=orders, scripting_jobs=jobs)
