"""Instructions of the statements of a comparison: how many each executes, and which functions differ.

In: an AbRequest of text. Out: the counts of each statement, in their order. They are exact even on a busy
machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from photometer.analysis.cause import are_identical
from photometer.comparing.statements import AbRequest, built_snippets
from photometer.errors import DefinitionError
from photometer.instruments.callgrind.count_task import DEFAULT_NUMBER, CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.function_counts import FunctionCounts
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.language import Language
from photometer.model.task import TaskSpec
from photometer.session.session import Session


@dataclasses.dataclass(frozen=True)
class StatementCount:
    """One statement: its counts, in total and by function, and whether they are identical to the first's."""

    counts: InstructionCounts
    functions: FunctionCounts
    is_identical: bool


def count_statements(
    request: AbRequest, *, number: int = DEFAULT_NUMBER, on_count: Callable[[int], object] = lambda _: None
) -> list[StatementCount]:
    """Count each statement once, in forks of one server under Valgrind. `on_count` gets how many are done."""
    if any(contender.names for contender in request.contenders):
        raise DefinitionError(
            "instructions can be counted only for text: a process under Valgrind does not have the objects of this one",
            remedy="Give the statements as text with their set-up.",
        )
    built: list[BuiltSnippet | None] = [None] * len(request.contenders)
    if request.language is Language.CPP:
        built = [*built_snippets(request)]
    found: list[StatementCount] = []
    with Session(request.environment) as session:
        counter = InstructionCounter(session)
        for contender, snippet in zip(request.contenders, built, strict=True):
            setup = "" if snippet is not None and contender.setup == "pass" else contender.setup
            spec = TaskSpec(
                contender.stmt,
                setup,
                request.global_setup,
                sub_label=contender.name if contender.name != contender.stmt else None,
                num_threads=request.num_threads,
            )
            counted = counter.count(CountTask(spec, built=snippet, number=number))
            counts, functions = counted.instruction_counts(), counted.function_counts()
            first = found[0] if found else None
            same = first is not None and are_identical(first.counts, counts, first.functions, functions)
            found.append(StatementCount(counts, functions, same and request.num_threads == 1))
            on_count(len(found))
    return found
