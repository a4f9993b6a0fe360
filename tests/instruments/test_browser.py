from __future__ import annotations

import shutil
import stat
import zlib
from pathlib import Path

import pytest

from photometer.errors import PhotometerError, ToolMissing
from photometer.instruments import browser
from photometer.instruments.browser import find_browser, png_size, render_png, svg_size
from tests.instruments.png_pixels import colours_of

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80"><rect width="120" height="80" fill="#fff"/>'
    '<rect x="10" y="10" width="60" height="20" fill="#d00"/></svg>'
)


def test_the_one_that_is_named_goes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv(browser.VARIABLE, str(program))
    assert find_browser() == str(program)
    monkeypatch.setenv(browser.VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(ToolMissing, match="cannot be executed"):
        find_browser()


def test_none_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ToolMissing, match="apt-get install chromium"):
        find_browser()


def test_sizes_are_read_from_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text(SVG)
    assert svg_size(tmp_path / "a.svg") == (120, 80)
    (tmp_path / "b.svg").write_text("<svg></svg>")
    with pytest.raises(PhotometerError, match="states no width"):
        svg_size(tmp_path / "b.svg")
    (tmp_path / "c.png").write_bytes(b"GIF89a")
    with pytest.raises(PhotometerError, match="is not a PNG"):
        png_size(tmp_path / "c.png")


@pytest.mark.parametrize("script", ["exit 7", "sleep 0"])
def test_a_browser_that_writes_nothing_is_an_error(script: str, tmp_path: Path) -> None:
    program = tmp_path / "broken"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "a.svg").write_text(SVG)
    # What lay there before is not taken for the new picture.
    (tmp_path / "a.png").write_bytes(b"old")
    with pytest.raises(PhotometerError, match=r"made no picture of a\.svg"):
        render_png(tmp_path / "a.svg", tmp_path / "a.png", browser=str(program))
    assert not (tmp_path / "a.png").exists()


def test_a_picture_of_another_size_is_an_error(tmp_path: Path) -> None:
    header = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (9).to_bytes(4, "big") + (9).to_bytes(4, "big")
    (tmp_path / "small.bin").write_bytes(header + zlib.compress(b""))
    program = tmp_path / "wrong"
    program.write_text(
        f'#!/bin/sh\nfor a; do case $a in --screenshot=*) cp {tmp_path}/small.bin "${{a#*=}}";; esac; done\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "a.svg").write_text(SVG)
    with pytest.raises(PhotometerError, match="is 9 by 9 pixels, not 120 by 80"):
        render_png(tmp_path / "a.svg", tmp_path / "a.png", browser=str(program))


@pytest.mark.browser
def test_a_real_browser_draws_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "a b.svg").write_text(SVG)
    render_png(tmp_path / "a b.svg", tmp_path / "a.png")
    assert png_size(tmp_path / "a.png") == (120, 80)
    colours = colours_of(tmp_path / "a.png")
    assert colours[(0xDD, 0, 0)] == 60 * 20
    assert colours[(255, 255, 255)] == 120 * 80 - 60 * 20
