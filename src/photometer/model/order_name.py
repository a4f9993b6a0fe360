"""OrderName: what one variant of a benchmark is called: its label, and in what it differs from the plainest variant.

In: the label and automatic labels of a work order, or the same from a record of a results file. Out: titles. Everything
that shows a label (tables, pages, the store, errors) puts it together here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LABEL_SEPARATOR = " › "
# What a label without words is called.
UNNAMED = "unnamed"
_PLAIN_RUNTIMES = ("eager", "explicit")
_TITLE = re.compile(r"^(?P<label>.*?) \[(?P<words>[^\[\]]*)\]$", re.DOTALL)


def order_id_of(record: Mapping[str, Any]) -> str:
    """Return the id of the order that a record of a results file belongs to; nothing if it has none."""
    order = record.get("order")
    return str(order.get("id", "")) if isinstance(order, Mapping) else ""


def label_text(label: Iterable[str]) -> str:
    """Return a label in one line: `maths › add`."""
    return LABEL_SEPARATOR.join(label)


def title_text(label: Iterable[str], words: Iterable[str] = ()) -> str:
    """Return a label, and in brackets the words that distinguish a variant: `maths › add [backward, n=64]`."""
    joined = ", ".join(words)
    return label_text(label) + (f" [{joined}]" if joined else "")


def split_title(title: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the label and the words of a text that `title_text` made."""
    found = _TITLE.match(title)
    label, words = (found["label"], found["words"].split(", ")) if found else (title, [])
    return tuple(label.split(LABEL_SEPARATOR)), tuple(words)


def name_below_group(label: Sequence[str]) -> str:
    """Return the label without its first word, which is the heading that it stands below."""
    return label_text(label[1:] or label)


def compile_words(options: object) -> tuple[str, ...]:
    """Return how a call of torch.compile differs from a plain one, from its recorded options: `reduce-overhead`."""
    if not isinstance(options, Mapping):
        return ()
    mode, dynamic, backend = options.get("mode"), options.get("dynamic"), options.get("backend")
    words = [] if mode in (None, "", "default") else [str(mode)]
    words += [f"backend:{backend}"] if backend else []
    words += ["dynamic" if dynamic else "static"] if isinstance(dynamic, bool) else []
    return (*words, *(["fullgraph"] if options.get("fullgraph") is True else []))


@dataclasses.dataclass(frozen=True)
class OrderName:
    """The label from the group down, and the variant in plain words."""

    label: tuple[str, ...]
    language: str = "python"
    runtime: str = "eager"
    autograd: str = "forward"
    compile_words: tuple[str, ...] = ()
    num_threads: int = 1
    device: str = "cpu"
    sizes: tuple[tuple[str, Any], ...] = ()
    ranks: int = 0

    @property
    def variant_words(self) -> tuple[str, ...]:
        """What differs from eager, forward, one thread, CPU: `torchscript`, `backward`, `2 threads`; without sizes."""
        runtime = () if self.runtime in _PLAIN_RUNTIMES else (" ".join((self.runtime, *self.compile_words)),)
        backward = ("backward",) if self.autograd == "forward+backward" else ()
        threads = (f"{self.num_threads} threads",) if self.num_threads > 1 else ()
        ranks = (f"{self.ranks} rank{'' if self.ranks == 1 else 's'}",) if self.ranks else ()
        return (*runtime, *backward, *threads, *ranks, *((self.device,) if self.device.split(":")[0] != "cpu" else ()))

    @property
    def size_words(self) -> tuple[str, ...]:
        return tuple(f"{name}={value}" for name, value in self.sizes)

    @property
    def variant(self) -> str:
        """The words of the variant in one line, with the language if it is not Python, and without sizes."""
        language = () if self.language == "python" else (self.language.replace("cpp", "C++"),)
        return ", ".join((*language, *self.variant_words))

    @property
    def title(self) -> str:
        return title_text(self.label, [word for word in (self.variant, *self.size_words) if word])

    @property
    def sweep_title(self) -> str:
        """The title without sizes: what all points of a sweep are called."""
        return title_text(self.label, [self.variant])

    @property
    def row_name(self) -> str:
        """The name of a row below the heading of its group, in a table whose columns are languages."""
        return title_text(self.label[1:] or self.label, (*self.variant_words, *self.size_words))


def name_of_record(order: Mapping[str, Any]) -> OrderName:
    """Return the name from the order of a record; missing or invalid parts get their defaults."""
    auto = order.get("auto")
    auto = auto if isinstance(auto, Mapping) else {}
    threads, ranks, label = auto.get("num_threads", 1), auto.get("ranks", 0), order.get("label")
    return OrderName(
        label=tuple(str(part) for part in label) if isinstance(label, list | tuple) and label else (UNNAMED,),
        language=str(auto.get("language", "python")),
        runtime=str(auto.get("runtime", "eager")),
        autograd=str(auto.get("autograd", "forward")),
        compile_words=compile_words(auto.get("compile")),
        num_threads=threads if isinstance(threads, int) else 1,
        device=str(auto.get("device", "cpu")),
        sizes=sizes_of_record(auto),
        ranks=ranks if isinstance(ranks, int) else 0,
    )


def sizes_of_record(auto: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the sizes of a sweep, by name, from recorded automatic labels."""
    sizes = auto.get("sizes")
    pairs = sizes.items() if isinstance(sizes, Mapping) else sizes if isinstance(sizes, list | tuple) else ()
    named = [pair for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]
    return tuple((str(name), tuple(value) if isinstance(value, list) else value) for name, value in named)
