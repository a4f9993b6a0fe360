"""An SVG file to a PNG file, by a browser that is on the machine: what it draws is what a reader sees.

In come two paths; out comes the picture, or a ToolMissing that says how to get a browser.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from photometer.errors import PhotometerError, ToolMissing

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Two pixels for each of the drawing's: sharp on today's screens and in print.
PIXELS_PER_UNIT = 2
# A browser starts in a second or two; a loaded machine may need ten.
LIMIT_SECONDS = 60.0
_SIZE = re.compile(r'<svg[^>]* width="(\d+)"[^>]* height="(\d+)"')


def find_browser() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def svg_to_png(svg: Path, png: Path, browser: str | None = None) -> None:
    """Draws a file of ours (its first line names its size). The browser is started with a profile of its own."""
    browser = browser or find_browser()
    if browser is None:
        raise ToolMissing(
            "there is no browser to draw PNG files with",
            remedy="Install Chromium or Chrome (Debian: apt install chromium); the SVG files need none.",
        )
    size = _SIZE.search(svg.read_text(encoding="utf-8")[:2000])
    if size is None:
        raise PhotometerError(f"{svg}: does not name its size", remedy="Give width and height in its first element.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            f"--force-device-scale-factor={PIXELS_PER_UNIT}",
            f"--window-size={size[1]},{size[2]}",
            f"--screenshot={png.resolve()}",
        ]
        # Chromium refuses to run as root with its sandbox; what it opens here is a file that we wrote.
        command += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        try:
            done = subprocess.run(
                [*command, svg.resolve().as_uri()],
                capture_output=True,
                text=True,
                timeout=LIMIT_SECONDS,
                check=False,
                # Or it would leave folders of its own behind.
                env={**os.environ, "TMPDIR": profile},
            )
        except subprocess.TimeoutExpired as error:
            raise PhotometerError(
                f"{browser} did not draw {svg} in {LIMIT_SECONDS:.0f} s", remedy="Use the SVG files."
            ) from error
    if done.returncode or not png.exists():
        raise PhotometerError(
            f"{browser} could not draw {svg}",
            command=command,
            exit_status=done.returncode,
            log=done.stderr[-2000:],
            remedy="Use the SVG files.",
        )
