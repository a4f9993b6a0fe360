"""AutoLabels: what the plan itself knows about a variant: runtime, autograd, language, threads, device, sizes.

They stand beside the author's label and are what tables, selections and comparisons group by.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from photometer.definition.sweep import SizePoint
from photometer.model.language import Language


class RuntimeMode(enum.Enum):
    EAGER = "eager"
    TORCHSCRIPT = "torchscript"
    COMPILED = "compiled"
    # The author wrote TimerArgs by hand: what runs there is the author's to say.
    EXPLICIT = "explicit"


class AutogradMode(enum.Enum):
    FORWARD = "forward"
    FORWARD_BACKWARD = "forward+backward"
    EXPLICIT = "explicit"


LANGUAGE_NAMES = {Language.PYTHON: "python", Language.CPP: "cpp"}


@dataclasses.dataclass(frozen=True)
class AutoLabels:
    runtime: RuntimeMode
    autograd: AutogradMode
    language: Language
    num_threads: int = 1
    device: str = "cpu"
    sizes: SizePoint = ()

    @property
    def on_device(self) -> bool:
        """On an accelerator, not the CPU."""
        return self.device.split(":")[0] != "cpu"

    def as_dict(self) -> dict[str, str | int]:
        """One text or number a column, for tables; sizes are columns of their own."""
        fixed: dict[str, str | int] = {
            "runtime": self.runtime.value,
            "autograd": self.autograd.value,
            "language": LANGUAGE_NAMES[self.language],
            "num_threads": self.num_threads,
            "device": self.device,
        }
        return {**fixed, **{name: value if isinstance(value, int) else str(value) for name, value in self.sizes}}

    def words(self) -> tuple[str, ...]:
        """What a selection may name: `torchscript`, `cpp`, `threads=2`, `cuda`, `n=64`."""
        language = LANGUAGE_NAMES[self.language]
        return (
            self.runtime.value,
            self.autograd.value,
            "c++" if language == "cpp" else language,
            language,
            f"threads={self.num_threads}",
            self.device,
            *(f"{name}={value}" for name, value in self.sizes),
        )

    def unusual_words(self) -> tuple[str, ...]:
        """What is not eager, forward, on one thread of the CPU: `torchscript`, `backward`, `2 threads`, `n=64`."""
        plain = (RuntimeMode.EAGER, RuntimeMode.EXPLICIT)
        return (
            *(() if self.runtime in plain else (self.runtime.value,)),
            *(("backward",) if self.autograd is AutogradMode.FORWARD_BACKWARD else ()),
            *((f"{self.num_threads} threads",) if self.num_threads > 1 else ()),
            *((self.device,) if self.on_device else ()),
            *(f"{name}={value}" for name, value in self.sizes),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "runtime": self.runtime.value,
            "autograd": self.autograd.value,
            "language": LANGUAGE_NAMES[self.language],
            "num_threads": self.num_threads,
            "device": self.device,
            "sizes": [[name, value] for name, value in self.sizes],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> AutoLabels:
        return cls(
            RuntimeMode(record["runtime"]),
            AutogradMode(record["autograd"]),
            Language.parse(record["language"]),
            record["num_threads"],
            record["device"],
            tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in record["sizes"]),
        )
