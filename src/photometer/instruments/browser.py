"""A headless browser: an SVG or HTML file in, a picture of it (PNG) out.

It is Chromium or Chrome, found on the machine or given in PHOTOMETER_BROWSER. The result is checked: it must be a PNG
of the requested size.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from pathlib import Path

from photometer.errors import PhotometerError, ToolMissing
from photometer.programs import run_program
from photometer.session.left_behind import private_folder

VARIABLE = "PHOTOMETER_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_MAC_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# A picture takes a second or two; a first start on a busy machine with a cold disk takes half a minute.
RENDER_SECONDS = 120.0
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_SIZE = struct.Struct(">II")
_SVG_SIZE = re.compile(r'<svg[^>]*?\swidth="(\d+)"[^>]*?\sheight="(\d+)"')


def find_browser() -> str:
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise ToolMissing(f"{VARIABLE} is {named}, which cannot be executed", remedy="Correct or unset it.")
        return found
    for name in (*NAMES, *_MAC_PLACES):
        found = shutil.which(name)
        if found is not None:
            return found
    raise ToolMissing(
        "making pictures (PNG) needs Chromium or Chrome, and neither was found",
        remedy=f"Install one (Debian: sudo apt-get install chromium) or set {VARIABLE}. The SVGs open anywhere.",
    )


def render_png(
    source: Path,
    target: Path,
    *,
    size: tuple[int, int] | None = None,
    pixels_per_unit: int = 1,
    browser: str | None = None,
) -> None:
    """Make a picture of one of our files. `size` is the page's size; an SVG states its own."""
    width, height = svg_size(source) if size is None else size
    with private_folder("browser") as profile:
        command = [
            find_browser() if browser is None else browser,
            "--headless",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--force-device-scale-factor={pixels_per_unit}",
            "--no-first-run",
            # Nothing is downloaded: the files contain all they need.
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            f"--screenshot={target.resolve()}",
            # Chromium's sandbox does not start for root, as in most containers; what is shown is our own file.
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            source.resolve().as_uri(),
        ]
        target.unlink(missing_ok=True)
        try:
            # Without a folder for temporary files it would leave its own behind.
            done = run_program(command, RENDER_SECONDS, {**os.environ, "TMPDIR": str(profile)})
        except OSError as error:
            raise PhotometerError(
                f"the browser made no picture of {source.name}: {error}", command=command, remedy=_remedy()
            ) from error
    if not target.exists():
        raise PhotometerError(
            f"the browser made no picture of {source.name}",
            command=command,
            exit_status=done.returncode,
            log=done.stderr[-4000:],
            remedy=_remedy(),
        )
    found, wanted = png_size(target), (width * pixels_per_unit, height * pixels_per_unit)
    if found != wanted:
        raise PhotometerError(
            f"the picture of {source.name} is {found[0]} by {found[1]} pixels, not {wanted[0]} by {wanted[1]}",
            command=command,
            remedy=_remedy(),
        )


def svg_size(path: Path) -> tuple[int, int]:
    """Return the width and height that one of our SVGs states, in pixels."""
    with path.open(encoding="utf-8") as file:
        match = _SVG_SIZE.search(file.read(2000))
    if match is None:
        raise PhotometerError(f"{path} states no width and height in pixels", remedy="Pass the picture's size.")
    return int(match.group(1)), int(match.group(2))


def png_size(path: Path) -> tuple[int, int]:
    """Return width and height from a PNG's header."""
    with path.open("rb") as file:
        head = file.read(24)
    if not head.startswith(_PNG_SIGNATURE) or len(head) < 24:
        raise PhotometerError(f"{path} is not a PNG", remedy="Look at what the browser wrote.")
    width, height = _PNG_SIZE.unpack(head[16:24])
    return width, height


def _remedy() -> str:
    return f"Open the file in a browser yourself, or set {VARIABLE} to another one."
