"""Call: one way to call into torch, as text; and CALLS, those that the shipped ladder is climbed with.

`x`, `y` and further names in `own` are of the rung's type, those in `plain` are always torch.Tensor.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Call:
    """`label` stands before the rung's name. `needs_methods` where the object itself must know what is asked of it."""

    label: tuple[str, ...]
    stmt: str
    own: tuple[str, ...] = ("x", "y")
    plain: tuple[str, ...] = ()
    shapes: tuple[tuple[str, str], ...] = ()
    before: str = ""
    needs_methods: bool = False
    is_about_position: bool = False

    def shape_of(self, name: str) -> str:
        # Two elements: the work itself is next to nothing beside the way to it.
        return dict(self.shapes).get(name, "(2,)")


_NORMALISED = (("x", "(2, 2)"), ("p", "(2, 2)"))
_BATCH_NORM = "z = torch.batch_norm({}, False, 0.1, 1e-05, False)"
_POSITION = "argument position"

CALLS: tuple[Call, ...] = (
    Call(("torch.add",), "z = torch.add(x, y)"),
    Call(("method",), "z = x.add(y)", needs_methods=True),
    Call(("operator",), "z = x + y", needs_methods=True),
    Call(("attribute",), "z = x.shape", own=("x",), needs_methods=True),
    Call(("torch.cat",), "z = torch.cat(pair)", before="pair = [x, y]"),
    Call(
        ("many arguments",),
        _BATCH_NORM.format("x, weight, bias, mean, variance"),
        own=("x", "weight", "bias", "mean", "variance"),
        shapes=_NORMALISED,
    ),
    Call(("not overridable",), "z = torch.is_tensor(x)", own=("x",)),
    Call((_POSITION, "first"), "z = torch.add(x, p)", own=("x",), plain=("p",), is_about_position=True),
    Call((_POSITION, "second"), "z = torch.add(p, x)", own=("x",), plain=("p",), is_about_position=True),
    Call((_POSITION, "keyword"), "z = torch.add(p, other=x)", own=("x",), plain=("p",), is_about_position=True),
    Call(
        (_POSITION, "last in a list of four"),
        "z = torch.cat(four)",
        own=("x",),
        plain=("p",),
        before="four = [p, p, p, x]",
        is_about_position=True,
    ),
    Call(
        (_POSITION, "fifth of many"),
        _BATCH_NORM.format("p, weight, bias, mean, variance"),
        own=("variance",),
        plain=("p", "weight", "bias", "mean"),
        shapes=_NORMALISED,
        is_about_position=True,
    ),
)
