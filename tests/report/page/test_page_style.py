"""The page's colours can be read, light and dark: the contrast that WCAG asks of small text."""

from __future__ import annotations

import re
from pathlib import Path

import photometer.report.page as page
from tests.guards.sources import none_of

STYLE = (Path(page.__file__).parent / "page.css").read_text(encoding="utf-8")
COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", STYLE)
}
SMALL_TEXT = 4.5
TEXTS = [
    *((ink, "paper") for ink in ("ink", "soft", "faint", "accent", "slower", "faster", "undecided", "caution")),
    *((ink, "raised") for ink in ("ink", "soft", "faint")),
    *((word, f"{word}-soft") for word in ("slower", "faster", "undecided")),
    *(("frame-ink", f"tone-{tone}") for tone in range(5)),
    *(("frame-ink", name) for name in ("kept", "gain-1", "gain-2", "lose-1", "lose-2")),
    ("ink", "undecided-soft"),
    ("soft", "undecided-soft"),
]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_text_can_be_read() -> None:
    none_of(
        f"{ink} on {paper}, {scheme}: {found:.2f}"
        for number, scheme in enumerate(("light", "dark"))
        for ink, paper in TEXTS
        if (found := contrast(COLOURS[ink][number], COLOURS[paper][number])) < SMALL_TEXT
    )


def test_white_on_the_strongest_frames_can_be_read() -> None:
    none_of(
        f"white on {name}: {colour}"
        for name in ("gain-3", "lose-3")
        for colour in COLOURS[name]
        if contrast("#ffffff", colour) < SMALL_TEXT
    )


def test_every_colour_that_is_used_is_defined() -> None:
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", STYLE))
    assert used <= set(COLOURS)
    assert len(used) > 30
