"""ParameterAlias: the value of one parameter is the value of another, drawn in the same set."""

from __future__ import annotations


class ParameterAlias:
    """Stands in a dict distribution for the value of another parameter, so that two sizes are sometimes the same one.

    An alias may name a parameter that is itself an alias. Two aliases of one parameter are two separate choices,
    which is why they compare by identity.
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias({self.alias_to!r})"
