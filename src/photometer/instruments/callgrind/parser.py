"""Read Callgrind's output format (version 1) without callgrind_annotate.

In: the text of a file as Valgrind wrote it: compressed names, relative positions, call and jump records, one or several
parts, any events. Out: a CallgrindProfile. For a damaged file, an error names the source and the line.
The format: https://valgrind.org/docs/manual/cl-format.html
"""

from __future__ import annotations

import re
from collections.abc import Callable

from photometer.errors import CallgrindFileError
from photometer.instruments.callgrind.profile import UNKNOWN, Call, CallgrindProfile, Function, SelfCost

_NAME = re.compile(r"\((\d+)\)(?:\s+(.*))?$")
_POSITION = r"(?:[+-]?\d+|0x[0-9a-fA-F]+|\*)"
_COST_LINE_STARTS = frozenset("0123456789+-*")
_SUPPORTED_MAJOR_VERSION = 1


def parse_text(text: str, *, source: str) -> CallgrindProfile:
    """Parse the content of an output file; errors and the profile name it by `source`."""
    return _Reader(source).read(text)


class _Reader:
    """The state that the format is relative to: current object, file and function, and the names seen so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line_number = 0
        self.header: dict[str, str] = {}
        self.parts = 0
        self.part_open = False
        self.events: tuple[str, ...] = ()
        self.positions = 1
        self.totals: list[int] = []
        self.stated_totals: list[int] = []
        self.names: dict[str, dict[str, str]] = {"object": {}, "file": {}, "function": {}}
        self.object_path = UNKNOWN
        self.file = UNKNOWN
        self.function: Function | None = None
        self.callee_object: str | None = None
        self.callee_file: str | None = None
        self.callee: Function | None = None
        self.pending_calls: int | None = None
        self.self_costs: dict[tuple[Function, str], list[int]] = {}
        self.calls: dict[tuple[Function, str, Function], list[int]] = {}
        self.functions: dict[tuple[str, str, str], Function] = {}
        self.own: list[int] | None = None
        self.specifications: dict[str, Callable[[str], None]] = {
            "ob": self.on_object,
            "fl": self.on_file,
            "fi": self.on_file,
            "fe": self.on_file,
            "fn": self.on_function,
            "cob": self.on_callee_object,
            "cfi": self.on_callee_file,
            "cfl": self.on_callee_file,
            "cfn": self.on_callee,
            "calls": self.on_calls,
            # Jumps stay inside a function and carry no cost, but their names enter the tables of compressed names.
            "jump": self.on_jump,
            "jcnd": self.on_jump,
            "jfi": lambda value: self.ignore(self.name("file", value)),
            "jfn": lambda value: self.ignore(self.name("function", value)),
        }

    def read(self, text: str) -> CallgrindProfile:
        cost_line = self.cost_line_pattern().match
        lines = text.split("\n")
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            if line[0] not in _COST_LINE_STARTS:
                self.line_number = number
                if self.on_other_line(line):
                    cost_line = self.cost_line_pattern().match
                continue
            # The hot path: more than half of all lines.
            match = cost_line(line)
            if match is None or self.own is None:
                self.line_number = number
                raise self.damaged("a cost line that does not fit the positions and events of the header", line)
            if self.pending_calls is not None:
                self.line_number = number
                self.on_call_cost(match[1])
                continue
            cost = match[1]
            try:
                self.own[0] += int(cost)
            except ValueError:
                self.line_number = number
                self.add(self.own, cost, line)
        self.line_number = len(lines)
        return self.finish()

    def cost_line_pattern(self) -> re.Pattern[str]:
        """Return the pattern: positions, then up to one count per event (trailing zeros are left out)."""
        return re.compile(
            rf"{_POSITION}(?:\s+{_POSITION}){{{self.positions - 1}}}((?:\s+\d+){{0,{len(self.events)}}})\s*$"
        )

    def on_other_line(self, line: str) -> bool:
        """Handle any other line: name, call, header or comment. Return whether it changed the form of cost lines."""
        if line[0] == "#" or line.isspace():
            return False
        key, equals, value = line.partition("=")
        specification = self.specifications.get(key) if equals else None
        if specification is None:
            return self.on_header(line)
        if self.pending_calls is not None:
            raise self.damaged("a call record without its cost line", line)
        if not self.events:
            raise self.damaged("costs before the line `events:`", line)
        specification(value)
        return False

    def on_header(self, line: str) -> bool:
        key, colon, value = line.partition(":")
        value = value.strip()
        if not colon or not key.isalpha():
            raise self.damaged("not a line of Callgrind's format", line)
        if key == "version":
            self.on_version(value, line)
        elif key == "positions":
            self.positions = len(value.split())
            if not 1 <= self.positions <= 2 or not set(value.split()) <= {"line", "instr"}:
                raise self.damaged("positions that are neither line nor instr", line)
        elif key == "events":
            self.on_events(tuple(value.split()), line)
        elif key == "totals":
            self.on_totals(value, line)
        else:
            self.header.setdefault(key, value)
        return key in ("positions", "events")

    def on_version(self, value: str, line: str) -> None:
        if not value.isdigit():
            raise self.damaged("a version that is not a number", line)
        if int(value) > _SUPPORTED_MAJOR_VERSION:
            raise CallgrindFileError(
                f"{self.source}, line {self.line_number}: version {value} of Callgrind's format is not known here",
                remedy=f"photometer reads version {_SUPPORTED_MAJOR_VERSION}: use a Valgrind of the 3.x series.",
            )

    def on_events(self, events: tuple[str, ...], line: str) -> None:
        if not events:
            raise self.damaged("no events", line)
        if self.events and self.events != events:
            raise self.damaged("a part that counts different events than the one before it", line)
        self.events = events
        self.totals = self.totals or [0] * len(events)
        self.stated_totals = self.stated_totals or [0] * len(events)
        self.parts += 1
        self.part_open = True

    def on_totals(self, value: str, line: str) -> None:
        if not self.part_open:
            raise self.damaged("totals of no part", line)
        self.add(self.stated_totals, value, line)
        self.part_open = False

    def on_object(self, value: str) -> None:
        self.object_path = self.name("object", value)

    def on_file(self, value: str) -> None:
        self.file = self.name("file", value)
        if self.function is not None:
            self.own = self.own_cost(self.function)

    def on_function(self, value: str) -> None:
        self.function = self.known_function(self.object_path, self.file, self.name("function", value))
        self.own = self.own_cost(self.function)

    def on_callee_object(self, value: str) -> None:
        self.callee_object = self.name("object", value)

    def on_callee_file(self, value: str) -> None:
        self.callee_file = self.name("file", value)

    def on_callee(self, value: str) -> None:
        # What is left out is the same as for the caller.
        object_path = self.object_path if self.callee_object is None else self.callee_object
        file = self.file if self.callee_file is None else self.callee_file
        self.callee = self.known_function(object_path, file, self.name("function", value))
        self.callee_object = self.callee_file = None

    def on_calls(self, value: str) -> None:
        count = value.split(maxsplit=1)[:1]
        if self.callee is None or self.function is None or not count or not count[0].isdigit():
            raise self.damaged("a call record without a count, a caller or a callee", f"calls={value}")
        self.pending_calls = int(count[0])

    def on_call_cost(self, cost: str) -> None:
        assert self.function is not None
        assert self.callee is not None
        assert self.pending_calls is not None
        key = (self.function, self.file, self.callee)
        edge = self.calls.get(key)
        if edge is None:
            edge = self.calls[key] = [0] * (len(self.events) + 1)
        edge[0] += self.pending_calls
        for index, count in enumerate(cost.split(), start=1):
            edge[index] += int(count)
        self.pending_calls = None

    def on_jump(self, value: str) -> None:
        if not value[:1].isdigit():
            raise self.damaged("a jump record without a count", value)

    def ignore(self, _value: str) -> None:
        """Ignore a name that only had to be entered in the tables."""

    def name(self, table: str, value: str) -> str:
        """Return the full name for `(3)`, `(3) name` (which defines 3) or an uncompressed `name`."""
        match = _NAME.match(value)
        if match is None:
            return value
        number, full = match.groups()
        names = self.names[table]
        if full:
            names[number] = full
            return full
        if number not in names:
            raise self.damaged(f"the {table} number {number} was never given a name", value)
        return names[number]

    def known_function(self, object_path: str, file: str, name: str) -> Function:
        key = (object_path, file, name)
        function = self.functions.get(key)
        if function is None:
            function = self.functions[key] = Function(object_path, file, name)
        return function

    def own_cost(self, function: Function) -> list[int]:
        key = (function, self.file)
        cost = self.self_costs.get(key)
        if cost is None:
            cost = self.self_costs[key] = [0] * len(self.events)
        return cost

    def add(self, sums: list[int], cost: str, line: str) -> None:
        counts = cost.split()
        if len(counts) > len(sums) or not all(count.isdigit() for count in counts):
            raise self.damaged("counts that do not fit the events of the header", line)
        for index, count in enumerate(counts):
            sums[index] += int(count)

    def finish(self) -> CallgrindProfile:
        if not self.events:
            raise self.damaged("no line `events:`: this is not Callgrind output, or it was cut off", "")
        if self.part_open or self.pending_calls is not None:
            raise self.damaged("the line `totals:` is missing: the file was cut off", "")
        for cost in self.self_costs.values():
            for index, count in enumerate(cost):
                self.totals[index] += count
        if self.totals != self.stated_totals:
            raise CallgrindFileError(
                f"{self.source}: its functions sum to {self.totals}, but its stated total is {self.stated_totals}",
                remedy="The file is damaged, or is the one Callgrind writes at exit: read the numbered dumps.",
            )
        pid = self.header.get("pid", "")
        return CallgrindProfile(
            source=self.source,
            creator=self.header.get("creator", ""),
            command=self.header.get("cmd", ""),
            pid=int(pid) if pid.isdigit() else None,
            parts=self.parts,
            events=self.events,
            totals=tuple(self.totals),
            self_costs=tuple(
                SelfCost(function, file, tuple(cost)) for (function, file), cost in self.self_costs.items() if any(cost)
            ),
            calls=tuple(
                Call(caller, file, callee, edge[0], tuple(edge[1:]))
                for (caller, file, callee), edge in self.calls.items()
            ),
        )

    def damaged(self, what: str, line: str) -> CallgrindFileError:
        shown = f": {line[:120]!r}" if line else ""
        return CallgrindFileError(
            f"{self.source}, line {self.line_number}: {what}{shown}",
            remedy="The file is damaged or cut off: measure again, and check that the disk is not full.",
        )
