"""installed_revision: a git revision installed by the user's command into an environment of its own, and kept.

It is kept by the commit (or the state of the working tree), the command, the interpreter with its packages, and the
variables that builds look at, so the second comparison of a revision does not build again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from photometer.environments.command import run_command, variables_without_python_path
from photometer.environments.interpreter import Interpreter, describe
from photometer.environments.kept import KeptEnvironments, key_of
from photometer.environments.spec import WORKTREE, GitSource
from photometer.environments.worktree import Checkout, Worktrees
from photometer.errors import EnvironmentSpecError

SOURCE_NAME = "source"
# Raised if what is in a kept environment changes: older ones are then not found any more.
_FORM = 3
# Quoted text of a command, and what a shell would act on outside of it, or inside double quotes. The command is run
# without a shell, and these would reach it as plain words.
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\$`]|\\.)*"|\\.""", re.DOTALL)
_ACTING = re.compile(r"[;|&<>$`\n]")
# Finders of packages below that are installed editable go last: some come before the path, and would find the user's
# own sources in the place of the revision that is installed.
_SHOW_PARENT = """\
import site, sys

own = sys.meta_path[:]
for folder in {folders!r}:
    site.addsitedir(folder)
sys.meta_path.sort(key=lambda finder: finder not in own)
"""
# Variables that builds of C++ and of torch look at.
_BUILD_VARIABLE = re.compile(
    r"(CC|CXX|LD|AR|\w*FLAGS|CMAKE_\w+|USE_\w+|BUILD_\w+|NO_\w+|WITH_\w+|TORCH_\w+|PYTORCH_\w+|CUDA_\w+|CUDNN_\w+|BLAS"
    r"|DEBUG|REL_WITH_DEB_INFO|MAX_JOBS|SETUPTOOLS_\w+)"
)


@dataclasses.dataclass(frozen=True)
class InstalledRevision:
    """`python` has the revision installed; `checkout.folder` is there only if the installation needs it."""

    python: str
    checkout: Checkout
    key: str


@contextlib.contextmanager
def installed_revision(
    source: GitSource, interpreter: Interpreter, command_text: str, worktrees: Worktrees, kept: KeptEnvironments
) -> Iterator[InstalledRevision]:
    """Yield the revision in an environment that sees the packages of `interpreter`; it stays while the block runs."""
    words = install_words(command_text)
    copied = worktrees.check_out(source, may_be_kept=False) if source.revision == WORKTREE else None
    identified = copied or Checkout(Path(), worktrees.commit_of(source))
    variables = sorted((name, value) for name, value in os.environ.items() if _BUILD_VARIABLE.fullmatch(name))
    state = identified.tree_digest or identified.commit
    key = key_of("revision", _FORM, state, words, interpreter.packages_digest(), variables)

    def make(folder: Path) -> None:
        checkout = copied or worktrees.check_out(source, may_be_kept=False)
        _install(interpreter, checkout.folder, folder, words)

    about = [("commit", identified.name), ("installed by", command_text), ("Python", interpreter.version)]
    with kept.use(key, f"git:{source.revision}", make, about) as folder:
        checkout = dataclasses.replace(identified, folder=folder / SOURCE_NAME)
        yield InstalledRevision(str(folder / "bin" / "python"), checkout, key)


def install_words(command_text: str) -> list[str]:
    """Return the words of the install command; what only a shell understands is an error."""
    if found := _ACTING.search(_QUOTED.sub("", command_text.strip())):
        raise EnvironmentSpecError(
            f"--install {command_text!r} has {found.group()!r}, which only a shell understands; none is used",
            remedy="Put the commands into a script in the repository, and give --install 'bash install.sh'.",
        )
    try:
        words = shlex.split(command_text)
    except ValueError as error:
        raise EnvironmentSpecError(f"--install {command_text!r}: {error}", remedy="Check its quotes.") from error
    if not words:
        raise EnvironmentSpecError("--install is empty", remedy='Give a command such as "pip install .".')
    return words


def _install(interpreter: Interpreter, checkout: Path, folder: Path, words: list[str]) -> None:
    """Run the user's command in the checkout, with a new environment first on PATH.

    The checkout is moved to where it may have to stay: an editable installation imports from it.
    """
    variables = variables_without_python_path()
    remedy = "Run the command yourself in a checkout of that revision."
    # Of a virtual environment, its own packages are shown: it need not see those of the installation behind it.
    below = [] if interpreter.is_venv else ["--system-site-packages"]
    environment = [interpreter.executable, "-m", "venv", *below, str(folder)]
    run_command(environment, variables=variables, remedy="Python's venv is needed (Debian: python3-venv).")
    _show_parent_packages(interpreter, folder)
    _leave_setuptools_to_parent(interpreter, folder)
    source = folder / SOURCE_NAME
    shutil.move(checkout, source)
    path = f"{folder / 'bin'}{os.pathsep}{variables.get('PATH', os.defpath)}"
    run_command(words, folder=source, variables={**variables, "VIRTUAL_ENV": str(folder), "PATH": path}, remedy=remedy)
    if is_imported_from(folder, source):
        # It leads to the user's repository, whose list of worktrees forgets this one when the comparison ends.
        (source / ".git").unlink(missing_ok=True)
    else:
        shutil.rmtree(source, ignore_errors=True)


def _show_parent_packages(interpreter: Interpreter, folder: Path) -> None:
    """Show the packages that a virtual environment sees; the new one would see those of its installation at most."""
    if not interpreter.is_venv:
        return
    own = Path(describe(str(folder / "bin" / "python")).site_folders[0])
    (own / "photometer_parent.py").write_text(_SHOW_PARENT.format(folders=interpreter.site_folders), encoding="utf-8")
    (own / "photometer_parent.pth").write_text("import photometer_parent\n", encoding="utf-8")


def _leave_setuptools_to_parent(interpreter: Interpreter, folder: Path) -> None:
    """Remove the setuptools that Python's venv brought, if there is one below: a build without isolation means that."""
    if not any(Path(site, "setuptools").is_dir() for site in interpreter.site_folders):
        return
    for site in folder.glob("lib/python*/site-packages"):
        for pattern in ("setuptools", "setuptools-*.dist-info", "pkg_resources", "_distutils_hack"):
            for found in site.glob(pattern):
                shutil.rmtree(found)
        (site / "distutils-precedence.pth").unlink(missing_ok=True)


def is_imported_from(environment: Path, source: Path) -> bool:
    """Whether an environment leads to a folder: by a .pth file, an editable finder, or a link."""
    name = os.fsencode(source)
    for site in environment.glob("lib/python*/site-packages"):
        for pattern in ("*.pth", "*.egg-link", "__editable__*.py"):
            if any(name in file.read_bytes() for file in site.glob(pattern)):
                return True
    for place, folders, names in os.walk(environment):
        if Path(place) == environment and SOURCE_NAME in folders:
            folders.remove(SOURCE_NAME)
        for entry in (Path(place, each) for each in (*folders, *names)):
            if entry.is_symlink() and str(entry.readlink()).startswith(str(source)):
                return True
    return False
