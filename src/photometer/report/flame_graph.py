"""Flame graphs as SVG that opens offline: of one side, or of two with each frame coloured by its change.

In: folded stacks. Out: the text of an SVG; its script (flame_graph.js) only adds zoom and search. The root is on top,
callees are below it, as py-spy draws them. Names come from users and are escaped.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable
from pathlib import Path

from photometer.analysis.flame_tree import FlameNode, FoldedStacks, flame_tree, without_interpreter
from photometer.report.escape import html_text

WIDTH_PIXELS = 1200
MARGIN_PIXELS = 10
ROW_PIXELS = 18
HEAD_PIXELS = 74
FOOT_PIXELS = 30
# A narrower frame would not be visible even at ten times the size.
NARROWEST_PIXELS = 0.05
# As in the script: labels have a font of 12 pixels, in which a letter is about 7.25 wide.
LETTER_PIXELS = 7.25
NARROWEST_LABEL_PIXELS = 24
# Of the hundred frames of a graph, about two differ by this much by chance.
CERTAIN_DEVIATIONS = 2.3
_OF_PYTHON = ("snippet)",)
_TORCH_LIBRARIES = ("libtorch", "libc10")
_TORCH_NAMESPACES = ("torch::", "at::", "c10::", "THP", "void at::", "void c10::", "void torch::")
_INNER = WIDTH_PIXELS - 2 * MARGIN_PIXELS
_SCRIPT = Path(__file__).with_name("flame_graph.js")
_STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#111}.paper{fill:#fff}"
    ".title{font-size:16px;font-weight:bold}.button{fill:#0645ad;cursor:pointer}.quiet{fill:#555}"
    ".frame{cursor:pointer}.frame:hover rect{stroke:#000;stroke-width:1}.frame text{pointer-events:none}"
    ".above{opacity:.55}.hit rect{fill:#d633ff}.new rect{stroke:#8b0000;stroke-width:.8}"
    "@media (prefers-color-scheme:dark){:root{color-scheme:dark}.paper{fill:#17191b}"
    ".title,#details{fill:#e4e5e3}.quiet{fill:#a3a8ab}.button{fill:#86b3d8}.frame rect{filter:brightness(.78)}}"
)


@dataclasses.dataclass(frozen=True)
class Quantity:
    """The meaning of widths, always per run, and how an amount is written."""

    write: Callable[[float], str]


NANOSECONDS = Quantity(lambda amount: f"{amount:,.1f} ns" if amount < 100 else f"{amount:,.0f} ns")
INSTRUCTIONS = Quantity(lambda amount: f"{amount:,.0f} instructions")


@dataclasses.dataclass(frozen=True)
class _Frame:
    node: FlameNode
    depth: int
    left: float


def render_flame_graph(
    stacks: FoldedStacks, title: str, *, subtitle: str = "", quantity: Quantity = NANOSECONDS, root: str = "loop"
) -> str:
    """Return the graph of one side. `root` names the frame on top, whose own part is the statement's loop."""
    tree = flame_tree(without_interpreter(stacks), root=root)

    def tip(node: FlameNode) -> str:
        return f"{node.name}\n{quantity.write(node.branch)} per run, {_share(node.branch, tree.branch)}"

    words = subtitle or f"{quantity.write(tree.branch)} per run"
    legend = "blue: Python; orange: torch; grey: other code"
    return _svg(tree, title, f"{words}. {legend}", _colour_of_kind, tip)


def render_flame_difference(
    base: FoldedStacks,
    branch: FoldedStacks,
    title: str,
    *,
    subtitle: str = "",
    quantity: Quantity = NANOSECONDS,
    root: str = "loop",
    sample_weights: tuple[float, float] = (0.0, 0.0),
) -> str:
    """Return the graph of two sides: red frames grew, blue ones shrank, outlined ones are new. Gone ones keep a place.

    `sample_weights` are the weights of one sample of each side: a change that may be due to chance is left grey.
    Counted stacks have none, and every change is real.
    """
    tree = flame_tree(without_interpreter(branch), without_interpreter(base), root=root)

    def certain_change(node: FlameNode) -> float:
        noise = math.sqrt(node.base * sample_weights[0] + node.branch * sample_weights[1])
        # The root's weights are not sampled: they are the time per run, known from the comparison.
        return node.change if node is tree or abs(node.change) > CERTAIN_DEVIATIONS * noise else 0.0

    largest = max((abs(certain_change(frame.node)) for frame in _layout(tree)), default=0.0)

    def tip(node: FlameNode) -> str:
        change = quantity.write(abs(node.change))
        sign = "+" if node.change >= 0 else "-"
        share = f", {sign}{_share(abs(node.change), node.base)}" if node.base else ", new"
        return f"{node.name}\n{quantity.write(node.base)} to {quantity.write(node.branch)}: {sign}{change}{share}"

    def colour(node: FlameNode) -> str:
        return _colour_of_change(certain_change(node) / largest if largest else 0.0)

    words = subtitle or f"{quantity.write(tree.base)} to {quantity.write(tree.branch)} per run"
    legend = "red: more in the branch; blue: less; outlined: only in the branch"
    legend += "; grey: unchanged, or too few samples to tell" if any(sample_weights) else "; grey: unchanged"
    return _svg(tree, title, f"{words}. {legend}", colour, tip)


def _svg(
    tree: FlameNode,
    title: str,
    subtitle: str,
    colour: Callable[[FlameNode], str],
    tip: Callable[[FlameNode], str],
) -> str:
    frames = _layout(tree)
    height = HEAD_PIXELS + ROW_PIXELS * (max((frame.depth for frame in frames), default=0) + 1) + FOOT_PIXELS
    right = WIDTH_PIXELS - MARGIN_PIXELS
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PIXELS}" height="{height}" '
        f'viewBox="0 0 {WIDTH_PIXELS} {height}" data-inner="{_INNER}" data-left="{MARGIN_PIXELS}">',
        f"<title>{html_text(title)}</title>",
        f"<style>{_STYLE}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
        f'<text class="title" x="{MARGIN_PIXELS}" y="24">{html_text(_cut(title, 110))}</text>',
        f'<text class="quiet" x="{MARGIN_PIXELS}" y="44">{html_text(_cut(subtitle, 150))}</text>',
        f'<text id="reset" class="button" x="{MARGIN_PIXELS}" y="64" style="display:none">reset zoom</text>',
        f'<text id="matched" class="quiet" x="{right - 110}" y="64" text-anchor="end"></text>',
        f'<text id="search" class="button" x="{right}" y="64" text-anchor="end">search</text>',
        *(_frame(frame, tree.width, tree.base > 0, colour, tip) for frame in frames),
        f'<text id="details" x="{MARGIN_PIXELS}" y="{height - 10}"></text>',
        f"<script><![CDATA[\n{_SCRIPT.read_text(encoding='utf-8')}]]></script>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _layout(tree: FlameNode) -> list[_Frame]:
    """Return the frames that are wide enough to be seen, parents before children."""
    frames = [_Frame(tree, 0, 0.0)]
    narrowest = tree.width * NARROWEST_PIXELS / _INNER
    for frame in frames:
        left = frame.left
        for child in frame.node.children.values():
            if child.width >= narrowest:
                frames.append(_Frame(child, frame.depth + 1, left))
            left += child.width
    return frames


def _frame(
    frame: _Frame,
    whole: float,
    has_base: bool,
    colour: Callable[[FlameNode], str],
    tip: Callable[[FlameNode], str],
) -> str:
    node = frame.node
    left, width = (frame.left / whole, node.width / whole) if whole else (0.0, 1.0)
    x, pixels, y = MARGIN_PIXELS + left * _INNER, width * _INNER, HEAD_PIXELS + frame.depth * ROW_PIXELS
    fits = int((pixels - 6) / LETTER_PIXELS) if pixels >= NARROWEST_LABEL_PIXELS else 0
    # In a tree of one side every base is 0, and nothing is new.
    new = " new" if node.is_new and has_base else ""
    return (
        f'<g class="frame{new}" data-x="{left:.9f}" data-w="{width:.9f}" data-d="{frame.depth}">'
        f"<title>{html_text(tip(node))}</title>"
        f'<rect x="{x:.2f}" y="{y}" width="{max(pixels - 0.4, 0.1):.2f}" height="{ROW_PIXELS - 1}" '
        f'fill="{colour(node)}" rx="1"/>'
        f'<text x="{x + 3:.2f}" y="{y + 13}">{html_text(_cut(node.name, fits)) if fits >= 3 else ""}</text></g>'
    )


def _colour_of_kind(node: FlameNode) -> str:
    """Return one hue each for Python, torch and other native code, in a shade that depends only on the name."""
    shade = hashlib.sha256(node.name.encode("utf-8", "backslashreplace")).digest()[0] % 14
    name, _, place = node.name.rpartition(" (")
    # py-spy adds the file of a function; Callgrind has only its name.
    if place in _OF_PYTHON or place.endswith(".py)"):
        return f"hsl(207,55%,{66 + shade}%)"
    if place.startswith(_TORCH_LIBRARIES) or (name or place).startswith(_TORCH_NAMESPACES):
        return f"hsl(24,85%,{62 + shade}%)"
    return f"hsl(40,12%,{70 + shade}%)"


def _colour_of_change(share: float) -> str:
    """Return full blue for -1, nearly white for 0, full red for 1: hues that colour-blind readers can distinguish."""
    strength = min(abs(share), 1.0) ** 0.6
    if strength < 0.01:
        return "#f0f0f0"
    return f"hsl({0 if share > 0 else 215},85%,{96 - 38 * strength:.0f}%)"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "100 %"


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: max(letters - 1, 0)] + "…"
