"""The language a snippet is written in, and the spellings that users may give it."""

from __future__ import annotations

import enum

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
