"""An interpreter that takes itself for a Mac's (mac_like.py), with the packages of the one that runs the tests."""

from __future__ import annotations

import site
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make_fake_mac(folder: Path) -> str:
    """Make the environment in a folder; return its interpreter."""
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    library = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages = {sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"], *site.getsitepackages()}
    lines = [str(Path(__file__).parent), "import mac_like; mac_like.pretend()", str(ROOT / "src"), *sorted(packages)]
    (library / "mac_like.pth").write_text("\n".join(lines) + "\n")
    return str(python)
