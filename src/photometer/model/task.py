"""TaskSpec: what was measured, and the Language it is written in.

A spec is the identity of a measurement: equal specs are replicates of one another.
"""

from __future__ import annotations

import dataclasses
import enum
import textwrap

from photometer.errors import DefinitionError


class Language(enum.Enum):
    """The language of a statement."""

    PYTHON = 0
    CPP = 1

    @classmethod
    def parse(cls, language: Language | str) -> Language:
        """Return the language that a name or a Language means."""
        if isinstance(language, cls):
            return language
        found = _SPELLINGS.get(str(language).lower())
        if found is None:
            # torch's own enum is another class with the same names, and may well be passed in.
            found = _SPELLINGS.get(str(getattr(language, "name", "")).lower())
        if found is None:
            raise DefinitionError(
                f"unknown language {language!r}",
                remedy="Use Language.PYTHON ('python', 'py') or Language.CPP ('cpp', 'c++').",
            )
        return found


_SPELLINGS = {"py": Language.PYTHON, "python": Language.PYTHON, "cpp": Language.CPP, "c++": Language.CPP}


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """The statement, how it is prepared, and where it stands in a table (everything but `globals`)."""

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement if there is none; the sub_label behind it."""
        if self.label is None and "\n" in self.stmt:
            head = f"stmt: ({self.sub_label})" if self.sub_label else "stmt:"
            return head + "\n" + textwrap.indent(self.stmt, "  ")
        head = self.stmt if self.label is None else self.label
        return f"{head}: {self.sub_label}" if self.sub_label else head

    def setup_str(self) -> str:
        """Return the set-up as a line or a block, empty if there is none."""
        if self.setup in ("", "pass"):
            return ""
        if "\n" in self.setup:
            return "setup:\n" + textwrap.indent(self.setup, "  ")
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return title, description and set-up below each other; a block of several lines ends with an empty one."""
        sections = [part for part in (self.title, self.description, self.setup_str()) if part]
        return "\n".join(part + "\n" if "\n" in part else part for part in sections)


TASK_FIELDS = tuple(field.name for field in dataclasses.fields(TaskSpec))
