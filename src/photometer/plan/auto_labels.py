"""AutoLabels: what the plan knows about a variant: runtime, autograd, language, threads, device, sizes, ranks.

They come after the author's label; tables, selections and comparisons group by them.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import ClassVar

from photometer.definition.compile_variant import CompileVariant
from photometer.definition.grouped import Label
from photometer.definition.sweep import SizePoint
from photometer.model.order_name import OrderName
from photometer.model.task import Language


class RuntimeMode(enum.Enum):
    EAGER = "eager"
    TORCHSCRIPT = "torchscript"
    COMPILED = "compiled"
    # The author wrote TimerArgs, so only the author knows what runs.
    EXPLICIT = "explicit"


class AutogradMode(enum.Enum):
    FORWARD = "forward"
    FORWARD_BACKWARD = "forward+backward"
    EXPLICIT = "explicit"


LANGUAGE_NAMES = {Language.PYTHON: "python", Language.CPP: "cpp"}


@dataclasses.dataclass(frozen=True)
class AutoLabels:
    ALWAYS: ClassVar[tuple[str, ...]] = ("num_threads", "device", "sizes")

    runtime: RuntimeMode
    autograd: AutogradMode
    language: Language
    num_threads: int = 1
    device: str = "cpu"
    sizes: SizePoint = ()
    compile: CompileVariant = CompileVariant()  # noqa: RUF009 - frozen, so sharing it is safe
    # How many processes run it together; 0 if it needs no group.
    ranks: int = 0

    @property
    def on_device(self) -> bool:
        """Whether it runs on an accelerator, not the CPU."""
        return self.device.split(":")[0] != "cpu"

    @property
    def runtime_name(self) -> str:
        """Return the runtime, and the options of torch.compile: `compiled reduce-overhead`."""
        return f"{self.runtime.value} {self.compile.word}".rstrip()

    def as_dict(self) -> dict[str, str | int]:
        """Return one text or number per column, for tables; each size is a column."""
        fixed: dict[str, str | int] = {
            "runtime": self.runtime_name,
            "autograd": self.autograd.value,
            "language": LANGUAGE_NAMES[self.language],
            "num_threads": self.num_threads,
            "device": self.device,
        }
        fixed |= {"ranks": self.ranks} if self.ranks else {}
        return {**fixed, **{name: value if isinstance(value, int) else str(value) for name, value in self.sizes}}

    def words(self) -> tuple[str, ...]:
        """Return the words that a selection may name: `torchscript`, `cpp`, `threads=2`, `cuda`, `n=64`."""
        language = LANGUAGE_NAMES[self.language]
        return (
            self.runtime.value,
            self.autograd.value,
            "c++" if language == "cpp" else language,
            language,
            f"threads={self.num_threads}",
            self.device,
            *((f"ranks={self.ranks}",) if self.ranks else ()),
            *(f"{name}={value}" for name, value in self.sizes),
            *self.compile.word.split(),
        )

    def unusual_words(self) -> tuple[str, ...]:
        """Return how it differs from eager, forward, one thread, CPU: `torchscript`, `backward`, `2 threads`."""
        name = self.named(())
        return (*name.variant_words, *name.size_words)

    def named(self, label: Label) -> OrderName:
        """Return the name of the variant of this label."""
        return OrderName(
            label,
            language=LANGUAGE_NAMES[self.language],
            runtime=self.runtime.value,
            autograd=self.autograd.value,
            compile_words=tuple(self.compile.word.split()),
            num_threads=self.num_threads,
            device=self.device,
            sizes=self.sizes,
            ranks=self.ranks,
        )
