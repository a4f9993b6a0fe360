"""The tests of a session in another tree: where they are there, and the arguments with which pytest finds them.

In: a session's root, configuration, arguments and tests. Out: SideSettings for a tree. In a checkout of an old
revision, the tests of the working tree replace its own: the same tests then measure both sides' code.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from photometer.errors import EnvironmentSpecError
from photometer.pytest_plugin.options import own_id
from photometer.pytest_plugin.stop_messages import SideSettings

# Folders that contain tests and what they need, but no code under test.
TEST_FOLDERS = frozenset({"test", "tests", "testing", "bench", "benches", "benchmark", "benchmarks"})
PLUGIN = "photometer.pytest_plugin"
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".git", ".pytest_cache", "*.pyc")


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
        return SideSettings(list(self.tests), there(self.started_in), arguments, path)

    def has_code(self, modules: Iterable[str]) -> bool:
        """Return whether these modules include anything besides the tests themselves."""
        tests = {"conftest", *(file.stem for file in self.files)}
        return any(not tests & set(name.split(".")) and name.split(".")[0] not in TEST_FOLDERS for name in modules)

    def lay_over(self, folder: Path) -> None:
        """Replace the tests and the configuration of a checkout by these."""
        for path in self._of_tests():
            copy = folder / path.relative_to(self.top)
            if path.is_dir():
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(path, copy, symlinks=True, ignore=NOT_COPIED)
            else:
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)

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


def options_of(config: pytest.Config) -> list[str]:
    """Return the command line's arguments without file and test names, and without this plugin's own."""
    named = set(config.args) if config.args_source is pytest.Config.ArgsSource.ARGS else set()
    words = [str(word) for word in config.invocation_params.args if str(word) not in named]
    # `-p photometer.pytest_plugin`: a side has the plugin under another name.
    own = {place for place, word in enumerate(words) if word.removeprefix("-p").strip() == PLUGIN}
    own |= {place - 1 for place in own if words[place] == PLUGIN}
    return [word for place, word in enumerate(words) if place not in own]
