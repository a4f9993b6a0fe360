"""A generated git repository: a Python package whose commits change things that are known."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tests.repositories import git, make_repository

SUITE = """\
from photometer import TimerArgs

BENCHMARKS = {
    "toy": {
        "work": TimerArgs("toy.work(30)", "import toy"),
        "rest": TimerArgs("toy.rest(3)", "import toy"),
    }
}
"""
_CODE = """\
# commit {number}
def work(n):
    total = 0
    for i in range(n + {extra}):
        total += i
    return total


def rest(n):
    return [n] * 3


UNUSED_{unused} = {number}
"""
START = 1_700_000_000
HOUR = 3600


class Project:
    """`commit` adds a commit; the suite lies beside the package and is not part of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.suite = folder.parent / f"{folder.name}_suite.py"
        self.suite.write_text(SUITE)
        (folder / "toy").mkdir(parents=True)
        make_repository(folder)
        self.shas: list[str] = []

    def git(self, *arguments: str, when: int = START) -> str:
        return git(self.folder, *arguments, at_second=when)

    def commit(self, code: str, subject: str) -> str:
        (self.folder / "toy" / "__init__.py").write_text(code)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, when=START + HOUR * len(self.shas))
        self.shas.append(self.git("rev-parse", "HEAD"))
        return self.shas[-1]

    def grow(self, commits: int, *, steps: Collection[int] = (), broken: Collection[int] = ()) -> None:
        """Add commits; those in `steps` make `work` do more, those in `broken` cannot be imported."""
        extra = 0
        for number in range(commits):
            extra += 10 * (number in steps)
            code = _CODE.format(number=number, extra=extra, unused=number % 7)
            if number in broken:
                code = 'raise RuntimeError("half done")\n'
            self.commit(code, f"step {number}" if number in steps else f"change {number}")
