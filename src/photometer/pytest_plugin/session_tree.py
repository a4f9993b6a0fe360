"""The tests of a session in another tree: where they are there, and the arguments with which pytest finds them.

In: a session's root, configuration, arguments and tests. Out: SideSettings for a tree. In a checkout of an old
revision, the tests of the working tree replace its own: the same tests then measure both sides' code.
"""

from __future__ import annotations

import dataclasses
import filecmp
import hashlib
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from photometer.errors import EnvironmentSpecError
from photometer.pytest_plugin.options import own_id
from photometer.pytest_plugin.stop_messages import SideSettings
from photometer.worker.preload import imports_of

# Folders that contain tests and what they need, but no code under test.
TEST_FOLDERS = frozenset({"test", "tests", "testing", "bench", "benches", "benchmark", "benchmarks"})
PLUGIN = "photometer.pytest_plugin"
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".git", ".pytest_cache", "*.pyc")


@dataclasses.dataclass(frozen=True)
class SideImports:
    """Import statements: those of pytest, the same on every side, and those of conftest.py files and tests."""

    of_pytest: tuple[str, ...] = ()
    of_tests: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class SessionTree:
    """A session's tests, by their files, and how it was started. `top` is the folder that a checkout replaces."""

    top: Path
    root: Path
    started_in: Path
    configuration: Path | None
    options: tuple[str, ...]
    tests: tuple[str, ...]
    files: tuple[Path, ...]
    imports_from_here: bool
    # The modules of installed plugins.
    plugins: tuple[str, ...] = ()
    seed: int | None = None

    @classmethod
    def of(cls, config: pytest.Config, items: Sequence[pytest.Item], top: Path | None) -> SessionTree:
        """Return the tests of a session. `top` is the root of their repository, if a side comes from git."""
        started_in = config.invocation_params.dir
        root = config.rootpath
        top = root if top is None else top
        files = tuple(dict.fromkeys(item.path for item in items))
        for path in (root, started_in, *files):
            if top not in (path, *path.parents) and path != started_in:
                raise EnvironmentSpecError(
                    f"{path} is not in the repository {top}, so another revision of it cannot be tested",
                    remedy="Start pytest in the repository, or name an environment without git:.",
                )
        return cls(
            top,
            root,
            started_in,
            config.inipath,
            tuple(options_of(config)),
            tuple(own_id(item) for item in items),
            files,
            bool({"", str(started_in)} & set(sys.path)),
            plugin_modules(config),
            config.getoption("photometer_seed", None),
        )

    def settings(self, folder: Path | None) -> SideSettings:
        """Return how a side runs these tests: in its own tree, or in this one if it has none."""

        def there(path: Path) -> str:
            inside = self.top in (path, *path.parents)
            return str(folder / path.relative_to(self.top)) if folder is not None and inside else str(path)

        arguments = [*self.options, f"--rootdir={there(self.root)}"]
        arguments += ["-c", there(self.configuration)] if self.configuration is not None else []
        arguments += [there(file) for file in self.files]
        path = [there(self.started_in)] if self.imports_from_here else []
        return SideSettings(list(self.tests), there(self.started_in), arguments, path, self.seed)

    def has_code(self, modules: Iterable[str]) -> bool:
        """Return whether these modules include anything besides the tests themselves."""
        tests = {"conftest", *(file.stem for file in self.files)}
        return any(not tests & set(name.split(".")) and name.split(".")[0] not in TEST_FOLDERS for name in modules)

    def lay_over(self, folder: Path) -> None:
        """Replace the tests and the configuration of a checkout by these. Files that are equal are not touched."""
        for path in (self.root, self.started_in):
            if self.top in (path, *path.parents):
                (folder / path.relative_to(self.top)).mkdir(parents=True, exist_ok=True)
        for path in self._of_tests():
            copy = folder / path.relative_to(self.top)
            if path.is_dir():
                _remove_others(path, copy)
                shutil.copytree(
                    path, copy, symlinks=True, ignore=NOT_COPIED, copy_function=_copy_changed, dirs_exist_ok=True
                )
            else:
                copy.parent.mkdir(parents=True, exist_ok=True)
                _copy_changed(path, copy)

    def imports(self) -> SideImports:
        """Return the imports that a side's processes share: pytest and its plugins, and those of the tests."""
        conftests = [path / "conftest.py" for path in (self.root, *self._folders_of_tests())]
        files = [*dict.fromkeys(path for path in conftests if path.exists()), *self.files]
        # As one text: what the first of them does may change what the imports of the others mean.
        text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
        of_tests = tuple(each for each in imports_of(text) if each != "import pytest")
        return SideImports(("import pytest", *(f"import {name}" for name in self.plugins)), of_tests)

    def _folders_of_tests(self) -> Iterable[Path]:
        for file in self.files:
            yield from (folder for folder in reversed(file.parents) if self.root in folder.parents)

    def digest(self) -> str:
        """Return a digest of the files that `lay_over` copies."""
        digest = hashlib.sha256()
        for path in self._of_tests():
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            for file in files:
                if file.is_file() and "__pycache__" not in file.parts:
                    digest.update(os.fsencode(file.relative_to(self.top)) + b"\0" + file.read_bytes())
        return digest.hexdigest()[:16]

    def _of_tests(self) -> Iterable[Path]:
        """Return test folders, test files elsewhere, the conftest.py files above them, and the configuration."""
        found: dict[Path, None] = {}
        for file in self.files:
            above = [folder for folder in reversed(file.parents) if self.root in folder.parents]
            tests = next((folder for folder in above if folder.name in TEST_FOLDERS), None)
            found[file if tests is None else tests] = None
            for folder in (self.root, *above):
                conftest = folder / "conftest.py"
                inside_tests = tests is not None and (folder == tests or tests in folder.parents)
                if conftest.exists() and not inside_tests:
                    found[conftest] = None
        if self.configuration is not None and self.top in self.configuration.parents:
            found[self.configuration] = None
        return found


def _copy_changed(source: str | Path, copy: str | Path) -> None:
    """Copy a file, unless the copy has the same content."""
    copy = Path(copy)
    if copy.is_symlink() or not copy.is_file() or not filecmp.cmp(source, copy, shallow=False):
        shutil.copy2(source, copy)


def _remove_others(source: Path, copy: Path) -> None:
    """Remove the files below `copy` that `source` does not have."""
    for file in copy.rglob("*") if copy.is_dir() else ():
        if (file.is_symlink() or file.is_file()) and not (source / file.relative_to(copy)).exists():
            file.unlink()


def plugin_modules(config: pytest.Config) -> tuple[str, ...]:
    """Return the names of the modules of installed plugins, other than ours."""
    names = [getattr(plugin, "__name__", "") for plugin, _ in config.pluginmanager.list_plugin_distinfo()]
    return tuple(sorted({name for name in names if name and not name.startswith("photometer")}))


def options_of(config: pytest.Config) -> list[str]:
    """Return the command line's arguments without file and test names, and without this plugin's own."""
    named = set(config.args) if config.args_source is pytest.Config.ArgsSource.ARGS else set()
    words = [str(word) for word in config.invocation_params.args if str(word) not in named]
    # `-p photometer.pytest_plugin`: a side has the plugin under another name.
    own = {place for place, word in enumerate(words) if word.removeprefix("-p").strip() == PLUGIN}
    own |= {place - 1 for place in own if words[place] == PLUGIN}
    return [word for place, word in enumerate(words) if place not in own]
