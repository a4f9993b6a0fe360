"""A wheel and a source distribution built from this tree, and virtual environments that have only the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD_SECONDS = 300
INSTALL_SECONDS = 600
# The copy that is built, in the folder that is given.
TREE = "tree"


def build(folder: Path) -> tuple[Path, Path]:
    """Return the wheel, made from the source distribution, and that. Nothing is downloaded; the tree is not changed."""
    copied = folder / TREE
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, tracked.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            target = copied / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(copied)],
        capture_output=True,
        text=True,
        check=True,
        timeout=BUILD_SECONDS,
    )
    (wheel,), (source,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    return wheel, source


class Installed:
    """A virtual environment with the wheel in it and no trace of the clone."""

    def __init__(self, folder: Path, wheel: Path, *, extra: str = "", shares_packages: bool) -> None:
        """Install the wheel; with `shares_packages`, beside the packages of the interpreter that runs the tests."""
        self.folder = folder
        venv.create(folder, symlinks=True, with_pip=not shares_packages)
        self.python = str(folder / "bin" / "python")
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.packages = folder / "lib" / version / "site-packages"
        if shares_packages:
            # As a plain folder on the path: the .pth file there that leads to the clone is not read.
            (self.packages / "shared.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
            command = [sys.executable, "-m", "pip", "--python", self.python, "install", "--no-deps", "--no-index"]
            self._install([*command, str(wheel)])
        else:
            self._install([self.python, "-m", "pip", "install", f"{wheel}{extra}"])

    def _install(self, command: list[str]) -> None:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=INSTALL_SECONDS)

    def run(self, *words: str, cwd: Path, path: str = "/nowhere") -> subprocess.CompletedProcess[str]:
        """Run the installed command, with no programs on the PATH but those of the environment."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP"))}
        variables["PATH"] = f"{self.folder / 'bin'}{os.pathsep}{path}"
        return subprocess.run(
            [str(self.folder / "bin" / "photometer"), *words],
            cwd=cwd,
            env={**variables, "COLUMNS": "120"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
