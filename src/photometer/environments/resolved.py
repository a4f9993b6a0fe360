"""From an EnvironmentSpec to an Environment that can be started: checked out, and installed if a command is given.

In: a spec, the folder for worktrees, perhaps the user's install command. Out: a ResolvedEnvironment, which also says
what exactly will run (the commit), for reports and for resuming.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

from photometer.environments.spec import EnvironmentSpec
from photometer.environments.worktree import Checkout, Worktrees
from photometer.errors import EnvironmentSpecError
from photometer.model.environment import Environment
from photometer.session.layout import of_fixed_length

# Building an extension module takes minutes; building torch itself, an hour or two.
INSTALL_SECONDS = 4 * 3600.0
# Quoted text of a command, and what a shell would act on outside of it, or inside double quotes. The command is run
# without a shell, and these would reach it as plain words.
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\$`]|\\.)*"|\\.""", re.DOTALL)
_ACTING = re.compile(r"[;|&<>$`\n]")
_SITE_FOLDERS = "import json, site, sys; print(json.dumps([sys.base_prefix != sys.prefix, site.getsitepackages()]))"


@dataclasses.dataclass(frozen=True)
class ResolvedEnvironment:
    """One side, ready to be started. `checkout` is where its code was put, if it came from git."""

    spec: EnvironmentSpec
    environment: Environment
    checkout: Checkout | None = None
    is_installed: bool = False

    @property
    def imports_checkout(self) -> bool:
        """Whether its code is imported from the checkout itself."""
        return self.checkout is not None and not self.is_installed

    @property
    def name(self) -> str:
        """As it was typed, with the commit behind a revision."""
        return self.spec.text if self.checkout is None else f"{self.spec.text} ({self.checkout.name})"

    def identity(self) -> dict[str, Any]:
        """What must be equal for a comparison to be resumed; temporary folders are not in it."""
        return {
            "spec": self.spec.text,
            "python": self.spec.interpreter,
            "variables": [list(pair) for pair in self.spec.variables],
            "path": list(self.spec.path),
            "commit": None if self.checkout is None else self.checkout.commit,
            "tree": None if self.checkout is None else self.checkout.tree_digest,
            "is_installed": self.is_installed,
        }


def resolve_environment(
    spec: EnvironmentSpec, worktrees: Worktrees, *, install: str | None = None
) -> ResolvedEnvironment:
    """Check out and install what is needed. `install` is run in the checkout, with a new venv first on PATH."""
    if spec.results is not None:
        raise EnvironmentSpecError(
            f"{spec.text} is a results file and cannot be started", remedy="Name an environment."
        )
    if install is not None:
        # Before the checkout, which takes a while.
        install_words(install)
    checkout = None if spec.git is None else worktrees.check_out(spec.git)
    python = spec.interpreter
    paths = tuple(of_fixed_length(folder) for folder in spec.path)
    if checkout is not None:
        if install is not None:
            python = _install(python, checkout.folder, worktrees.new_folder(), install)
        else:
            paths = (*checkout.import_paths, *paths)
    environment = Environment(python, paths, spec.variables, spec.text)
    return ResolvedEnvironment(spec, environment, checkout, checkout is not None and install is not None)


def _install(python: str, source: Path, target: Path, command_text: str) -> str:
    """Run the user's command in `source` with a new virtual environment that sees the packages of `python`."""
    words = install_words(command_text)
    _run([python, "-m", "venv", "--system-site-packages", str(target)], source, dict(os.environ))
    fresh = target / "bin" / "python"
    _show_parent_packages(python, fresh)
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    path = f"{target / 'bin'}{os.pathsep}{variables.get('PATH', os.defpath)}"
    _run(words, source, {**variables, "VIRTUAL_ENV": str(target), "PATH": path})
    return str(fresh)


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


def _show_parent_packages(python: str, fresh: Path) -> None:
    """Show the packages of `python` itself: --system-site-packages shows those of its base installation only."""
    is_venv, folders = json.loads(_run([python, "-c", _SITE_FOLDERS], Path("/"), dict(os.environ)))
    if not is_venv:
        return
    own = Path(json.loads(_run([str(fresh), "-c", _SITE_FOLDERS], Path("/"), dict(os.environ)))[1][0])
    lines = [f"import site; site.addsitedir({folder!r})" for folder in folders]
    (own / "photometer_parent.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _run(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentSpecError(
            f"the environment could not be made: {error}", command=command, remedy="Check the install command."
        ) from error
    if done.returncode != 0:
        raise EnvironmentSpecError(
            "the environment could not be made",
            command=command,
            exit_status=done.returncode,
            log=(done.stdout + done.stderr)[-8000:],
            remedy="Run the command yourself in a checkout of that revision.",
        )
    return done.stdout
