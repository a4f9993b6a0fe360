"""From an EnvironmentSpec to an Environment that can be started: found, made, checked out, installed.

In: specs, the folder for worktrees, perhaps the user's install command. Out: ResolvedEnvironments, which also say
what exactly will run (the commit, the packages, the build of torch), for reports and for resuming.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

from photometer.environments.command import stop_commands
from photometer.environments.installed_revision import install_words, installed_revision
from photometer.environments.installers import Installer, find_installer
from photometer.environments.interpreter import Interpreter, describe, find_python
from photometer.environments.kept import KeptEnvironments
from photometer.environments.packaged import Packaged, packaged
from photometer.environments.spec import EnvironmentSpec
from photometer.environments.worktree import Checkout, Worktrees
from photometer.errors import EnvironmentSpecError
from photometer.model.environment import Environment
from photometer.session.layout import of_fixed_length

# How often those that are still at work are stopped, after one has failed: one may just be between two commands.
STOPPING_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class ResolvedEnvironment:
    """One side, ready to be started. `checkout` is where its code was put, if it came from git."""

    spec: EnvironmentSpec
    environment: Environment
    checkout: Checkout | None = None
    is_installed: bool = False
    packages: Packaged | None = None
    # Version, headers, libraries and ABI of its torch; None if it has none of its own.
    torch_build: str | None = None

    @property
    def imports_checkout(self) -> bool:
        """Whether its code is imported from the checkout itself."""
        return self.checkout is not None and not self.is_installed

    @property
    def name(self) -> str:
        """As it was typed, with the commit behind a revision and the torch that was found, if it was not named."""
        found = [] if self.checkout is None else [self.checkout.name]
        torch = None if self.packages is None else self.packages.torch
        if torch is not None and torch not in self.spec.text:
            found.append(f"torch {torch}")
        return f"{self.spec.text} ({', '.join(found)})" if found else self.spec.text

    def identity(self) -> dict[str, Any]:
        """Return what must be equal for a comparison to be resumed; temporary folders are not in it."""
        return {
            "spec": self.spec.text,
            "python": self.environment.python if self.packages is not None else self.spec.interpreter,
            "variables": [list(pair) for pair in self.spec.variables],
            "path": list(self.spec.path),
            "commit": None if self.checkout is None else self.checkout.commit,
            "tree": None if self.checkout is None else self.checkout.tree_digest,
            "is_installed": self.is_installed,
            "torch_build": self.torch_build,
        }


def resolve_environments(
    specs: Sequence[EnvironmentSpec], worktrees: Worktrees, *, install: str | None = None
) -> list[ResolvedEnvironment]:
    """Make all of them, at the same time; the first that fails ends the others."""
    installer = find_installer() if any(spec.packages is not None for spec in specs) else None
    with ThreadPoolExecutor(max(len(specs), 1)) as threads:
        running = [
            threads.submit(resolve_environment, spec, worktrees, install=install, installer=installer) for spec in specs
        ]
        try:
            for each in wait(running, return_when=FIRST_EXCEPTION).done:
                # The first that failed is raised, not one that is stopped because of it.
                each.result()
            return [each.result() for each in running]
        except BaseException:
            while wait(running, timeout=STOPPING_SECONDS).not_done:
                stop_commands()
            raise


def resolve_environment(
    spec: EnvironmentSpec,
    worktrees: Worktrees,
    *,
    install: str | None = None,
    kept: KeptEnvironments | None = None,
    installer: Installer | None = None,
) -> ResolvedEnvironment:
    """Make, check out and install what is needed; it stays until `worktrees` is closed.

    `install` is run in the checkout, with a new environment first on PATH.
    """
    if spec.results is not None:
        raise EnvironmentSpecError(
            f"{spec.text} is a results file and cannot be started", remedy="Name an environment."
        )
    if install is not None:
        # Before the checkout, which takes a while.
        install_words(install)
    interpreter = _interpreter(
        spec, is_base=spec.packages is not None or (spec.git is not None and install is not None)
    )
    packages = None
    if spec.packages is not None and interpreter is not None:
        kept = kept or KeptEnvironments()
        packages = worktrees.hold(packaged(spec.packages, interpreter, kept, installer or find_installer()))
        interpreter = describe(packages.python)
    _need_torch(spec, interpreter)
    # A venv's python is a link; what it is called in the spec or in the cache is what starts it.
    python = _as_named(spec, interpreter, packages)
    paths = tuple(of_fixed_length(folder) for folder in spec.path)
    checkout = None
    if spec.git is not None and install is not None and interpreter is not None:
        made = worktrees.hold(installed_revision(spec.git, interpreter, install, worktrees, kept or KeptEnvironments()))
        python, checkout = made.python, made.checkout
    elif spec.git is not None:
        checkout = worktrees.check_out(spec.git)
        paths = (*checkout.import_paths, *paths)
    environment = Environment(python, paths, spec.variables, spec.text)
    build = None if interpreter is None else interpreter.torch_digest()
    return ResolvedEnvironment(
        spec, environment, checkout, checkout is not None and install is not None, packages, build
    )


def _interpreter(spec: EnvironmentSpec, *, is_base: bool) -> Interpreter | None:
    """Return what the interpreter says of itself. One that says nothing, and that nothing is made of, fails later."""
    if spec.python_version is not None:
        return find_python(spec.python_version)
    try:
        return describe(spec.interpreter)
    except EnvironmentSpecError:
        if is_base:
            raise
        return None


def _as_named(spec: EnvironmentSpec, interpreter: Interpreter | None, packages: Packaged | None) -> str:
    if packages is not None:
        return packages.python
    return interpreter.executable if interpreter is not None and spec.python_version else spec.interpreter


def _need_torch(spec: EnvironmentSpec, interpreter: Interpreter | None) -> None:
    """Say at once that an environment asked for by its packages or its version has no torch; others may find one."""
    asked = spec.packages is not None or spec.python_version is not None
    if interpreter is None or not asked or spec.git is not None or spec.path:
        return
    if interpreter.torch_folder is None:
        version = spec.python_version or interpreter.version
        raise EnvironmentSpecError(
            f"{spec.text}: Python {interpreter.version} has no torch there",
            remedy=f'Ask for it: "python:{version} + pip:torch==VERSION".',
        )
