"""From an EnvironmentSpec to an Environment that can be started: found, made, checked out, installed.

In: specs, the folder for worktrees, perhaps the user's install command. Out: ResolvedEnvironments, which also say
what exactly will run (the commit, the packages, the build of torch), for reports and for resuming. A git revision that
the user's command installs gets a kept environment of its own (installed_revision).
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import queue
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from photometer.environments.command import last_lines, run_command, stop_commands, variables_without_python_path
from photometer.environments.installers import Installer, find_installer
from photometer.environments.interpreter import Interpreter, describe, find_python
from photometer.environments.kept import KeptEnvironments, key_of
from photometer.environments.packaged import Overlay, Packaged, overlay, packaged
from photometer.environments.spec import WORKTREE, EnvironmentSpec, GitSource
from photometer.environments.worktree import Checkout, Worktrees, check_revisions
from photometer.errors import EnvironmentSpecError, LimitReached
from photometer.model.machine import Environment
from photometer.session.layout import of_fixed_length

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
    """Return the words of the install command; syntax that only a shell understands is an error."""
    if found := _ACTING.search(_QUOTED.sub("", command_text.strip())):
        raise EnvironmentSpecError(
            f"--install {command_text!r} has {found.group()!r}, which only a shell understands; none is used here",
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
    """Remove the setuptools that Python's venv brought, if there is one below, for builds without isolation."""
    if not any(Path(site, "setuptools").is_dir() for site in interpreter.site_folders):
        return
    for site in folder.glob("lib/python*/site-packages"):
        for pattern in ("setuptools", "setuptools-*.dist-info", "pkg_resources", "_distutils_hack"):
            for found in site.glob(pattern):
                shutil.rmtree(found)
        (site / "distutils-precedence.pth").unlink(missing_ok=True)


def is_imported_from(environment: Path, source: Path) -> bool:
    """Whether an environment imports from a folder: by a .pth file, an editable finder, or a link."""
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


# How a line about what is being made begins.
MAKING = "making"
# How often those that are still at work are stopped, after one has failed: one may just be between two commands.
STOPPING_SECONDS = 0.2
# How often to look what is done, and how often to say what still is not.
LOOK_SECONDS = 0.2
TELL_SECONDS = 15.0


@dataclasses.dataclass(frozen=True)
class ResolvedEnvironment:
    """One side, ready to be started. `checkout` is the folder of its code, if it came from git."""

    spec: EnvironmentSpec
    environment: Environment
    checkout: Checkout | None = None
    is_installed: bool = False
    packages: Packaged | None = None
    overlay: Overlay | None = None
    # Version, headers, libraries and ABI of its torch; None if it has none of its own.
    torch_build: str | None = None

    @property
    def imports_checkout(self) -> bool:
        """Whether its code is imported from the checkout itself."""
        return self.checkout is not None and not self.is_installed

    @property
    def has_locked_packages(self) -> bool:
        """Whether its packages are those of a lock alone, so that the same names mean the same code."""
        return self.packages is not None or (self.overlay is not None and not self.overlay.is_over_sources)

    @property
    def name(self) -> str:
        """Return the side as typed, but a working tree by its branch; with the commit, and the versions found."""
        text = self.spec.text
        if self.checkout is not None and self.checkout.branch:
            text = text.replace(f"git:{WORKTREE}", self.checkout.branch)
        found = [] if self.checkout is None else [self.checkout.name]
        torch = None if self.packages is None else self.packages.torch
        if torch is not None and torch not in self.spec.text:
            found.append(f"torch {torch}")
        laid = () if self.overlay is None else self.overlay.found
        found += [f"{name} {version}" for name, version in laid if version not in self.spec.text]
        return f"{text} ({', '.join(found)})" if found else text

    def identity(self) -> dict[str, Any]:
        """Return what must be equal for a comparison to be resumed; temporary folders are not in it."""
        laid = {} if self.overlay is None else {"overlay": self.overlay.key}
        return {
            **laid,
            "spec": self.spec.text,
            "python": self.environment.python if self.packages is not None else self.spec.interpreter,
            "variables": [list(pair) for pair in self.spec.variables],
            "path": list(self.spec.path),
            "commit": None if self.checkout is None else self.checkout.commit,
            "tree": None if self.checkout is None else self.checkout.tree_digest,
            "is_installed": self.is_installed,
            "torch_build": self.torch_build,
        }


@dataclasses.dataclass(frozen=True)
class Making:
    """How environments are made: where progress is reported, and how long making may take."""

    tell: Callable[[str], object] = lambda text: None
    seconds_left: Callable[[], float] = lambda: math.inf


def resolve_environments(
    specs: Sequence[EnvironmentSpec],
    worktrees: Worktrees,
    *,
    install: str | None = None,
    making: Making = Making(),
) -> list[ResolvedEnvironment]:
    """Make all environments at the same time; the first that fails ends the others."""
    check_revisions(spec.git for spec in specs)
    installer = find_installer() if any(spec.packages or spec.overlay for spec in specs) else None
    made: queue.SimpleQueue[str] = queue.SimpleQueue()
    needs_kept = installer is not None or install is not None
    kept = KeptEnvironments(on_make=made.put) if needs_kept else None
    with ThreadPoolExecutor(max(len(specs), 1)) as threads:
        running = [
            threads.submit(resolve_environment, spec, worktrees, install=install, kept=kept, installer=installer)
            for spec in specs
        ]
        try:
            _wait_for(running, specs, made, making)
            return [each.result() for each in running]
        except BaseException:
            while wait(running, timeout=STOPPING_SECONDS).not_done:
                stop_commands()
            raise


def _wait_for(
    running: Sequence[Future[ResolvedEnvironment]],
    specs: Sequence[EnvironmentSpec],
    made: queue.SimpleQueue[str],
    making: Making,
) -> None:
    """Wait until all are made, and report what is being made and the output of its commands.

    Raise the first error.
    """
    began = reported = time.monotonic()
    while not_done := [each for each in running if not each.done()]:
        done = wait(not_done, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED).done
        for each in done:
            # The first that failed is raised, not one that is stopped because of it.
            each.result()
        while not made.empty():
            making.tell(f"{MAKING} {made.get()}")
            reported = time.monotonic()
        left = [spec.text for spec, each in zip(specs, running, strict=True) if not each.done()]
        if left and making.seconds_left() <= 0.0:
            raise LimitReached(
                f"the time limit was reached after {time.monotonic() - began:.0f} s of making {', '.join(left)}; "
                "nothing was measured",
                log="\n".join(last_lines()),
                remedy="Give more with --limit. What was made is kept, and the next comparison begins there.",
            )
        if left and time.monotonic() - reported >= TELL_SECONDS:
            reported = time.monotonic()
            printed = "".join(f": {line}" for line in last_lines()[-1:])
            making.tell(f"{MAKING} {', '.join(left)} ({reported - began:.0f} s){printed}")


def resolve_environment(
    spec: EnvironmentSpec,
    worktrees: Worktrees,
    *,
    install: str | None = None,
    kept: KeptEnvironments | None = None,
    installer: Installer | None = None,
) -> ResolvedEnvironment:
    """Make, check out and install an environment; it stays until `worktrees` is closed.

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
        spec, is_base=bool(spec.packages or spec.overlay) or (spec.git is not None and install is not None)
    )
    packages = laid = None
    if spec.packages is not None and interpreter is not None:
        kept = kept or KeptEnvironments()
        packages = worktrees.hold(packaged(spec.packages, interpreter, kept, installer or find_installer()))
        interpreter = describe(packages.python)
    if spec.overlay is not None and interpreter is not None:
        kept = kept or KeptEnvironments()
        laid = worktrees.hold(overlay(spec.overlay, interpreter, kept, installer or find_installer()))
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
    if laid is not None:
        paths = (*paths, str(laid.folder))
    environment = Environment(python, paths, spec.variables, spec.text)
    build = None if interpreter is None else interpreter.torch_digest()
    return ResolvedEnvironment(
        spec, environment, checkout, checkout is not None and install is not None, packages, laid, build
    )


def _interpreter(spec: EnvironmentSpec, *, is_base: bool) -> Interpreter | None:
    """Return the interpreter's description of itself; if it fails and nothing depends on it, report that later."""
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
