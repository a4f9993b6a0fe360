"""`publish_site`: the whole site as files in a folder, which opens from disk or from any web server.

    index.html  site.js  site.css
    data/index.js  data/commits.js                  the first view; all commits
    data/benchmark-N.js                             curves of one benchmark
    data/commit-P-N.js                              values of all benchmarks at commit N of project P

Files of an earlier publication are rewritten only if their content changed, and removed if they are no longer made;
other files are left alone. The page is one document, one script and one style, made of the report page's parts and the
site's own. Nothing in them depends on the data: labels, statements and subjects of commits reach the page only as JSON
text.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from photometer.errors import StoreError
from photometer.history.nouns import Benchmark, Curve, StoredComparison
from photometer.history.repository import Repository
from photometer.history.site.benchmark_data import benchmark_data
from photometer.history.site.changes import site_changes
from photometer.history.site.commit_data import CommitTable
from photometer.history.site.index_data import Latest, SiteOptions, commits_data, index_data
from photometer.history.site.names import SiteNames
from photometer.history.store import Store
from photometer.model.visible_text import visible
from photometer.model.whole_file import not_written, write_text_whole
from photometer.report.page.page import REPORT_FOLDER, combined_script

DATA = "data"
# The names of files that a publication makes.
OURS = re.compile(r"(index|commits|benchmark-\d+|commit-\d+-\d+)\.js")


@dataclasses.dataclass(frozen=True)
class Published:
    """The size of the site; `written` of its files are new or changed."""

    page: Path
    benchmarks: int
    commits: int
    changes: int
    files: int
    written: int
    total_bytes: int


def publish_site(
    store: Store,
    folder: Path,
    options: SiteOptions,
    made_at: int,
    *,
    repository: Repository | None = None,
    on_benchmark: Callable[[int, int], None] = lambda done, of: None,
) -> Published:
    """Write the site. `on_benchmark` is called with the number of benchmarks done."""
    writer = _Writer(folder)
    names = SiteNames.read(store)
    latest, commits = Latest(names), CommitTable(names)
    verdicts = _by_benchmark(store.comparisons(with_figures=True))
    done = 0

    def written_on_the_way() -> Iterator[Curve]:
        nonlocal done
        for benchmark, curves in by_benchmark(store.all_curves()):
            for curve in curves:
                latest.add(curve)
                commits.add(curve)
            data = benchmark_data(names, benchmark, curves, verdicts.get(benchmark.id, ()))
            writer.data(f"benchmark-{benchmark.id}", data)
            done += 1
            on_benchmark(done, len(names.benchmarks))
            yield from curves

    changes = site_changes(store, names, written_on_the_way(), repository)
    for number, project in enumerate(names.projects):
        for place in range(len(names.commits[project])):
            writer.data(f"commit-{number}-{place}", commits.data(project, place))
    writer.data("commits", commits_data(names))
    writer.data("index", index_data(names, latest, changes, options, made_at))
    writer.text("site.js", script())
    writer.text("site.css", style())
    # The page comes last: who finds it finds all that it needs.
    writer.text("index.html", document(options.title))
    writer.remove_others()
    return Published(
        folder / "index.html",
        len(names.benchmarks),
        sum(len(found) for found in names.commits.values()),
        len(changes),
        writer.files,
        writer.written,
        writer.total_bytes,
    )


def by_benchmark(curves: Iterable[Curve]) -> Iterator[tuple[Benchmark, list[Curve]]]:
    """Return the curves of each benchmark together; they follow one another."""
    gathered: list[Curve] = []
    for curve in curves:
        if gathered and curve.benchmark.id != gathered[0].benchmark.id:
            yield gathered[0].benchmark, gathered
            gathered = []
        gathered.append(curve)
    if gathered:
        yield gathered[0].benchmark, gathered


def _by_benchmark(comparisons: Iterable[StoredComparison]) -> dict[int, list[StoredComparison]]:
    found: dict[int, list[StoredComparison]] = {}
    for each in comparisons:
        found.setdefault(each.benchmark.id, []).append(each)
    return found


class _Writer:
    """Writes files of the site, and remembers which it has written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: set[str] = set()
        self.files = self.written = 0
        self.total_bytes = 0
        if (folder / "index.html").exists() and not (folder / DATA / "index.js").exists():
            raise StoreError(
                f"{folder} has an index.html that is not of an earlier publication",
                remedy="Name a folder of its own; it is made if it is missing.",
            )
        try:
            (folder / DATA).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_written(folder / DATA, error, remedy="Name a folder that is yours, or a new one.") from error

    def data(self, name: str, value: Any) -> None:
        self._names.add(f"{name}.js")
        self.text(f"{DATA}/{name}.js", data_script(name, value))

    def text(self, name: str, text: str) -> None:
        content = text.encode("utf-8", "backslashreplace")
        self.files += 1
        self.total_bytes += len(content)
        if not _has_content(self._folder / name, content):
            write_text_whole(self._folder / name, text, durable=False)
            self.written += 1

    def remove_others(self) -> None:
        for path in (self._folder / DATA).iterdir():
            if OURS.fullmatch(path.name) and path.name not in self._names:
                path.unlink(missing_ok=True)


def _has_content(path: Path, content: bytes) -> bool:
    try:
        return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        # Then it is written, and an error names what prevents that.
        return False


_FOLDER = Path(__file__).parent
# In this order: each uses those before it.
_SHARED_SCRIPTS = ("dom", "format", "scale", "figure", "table", "theme")
_OWN_SCRIPTS = ("load", "words", "curve", "overview", "benchmarks", "benchmark", "compare", "site")
# Scripts, styles and data of the site itself, and nothing else.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'"


def document(title: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    environment.filters["visible"] = visible
    return environment.get_template("site.html.jinja").render(title=title, policy=POLICY)


def script() -> str:
    shared = [REPORT_FOLDER / "script" / f"{name}.js" for name in _SHARED_SCRIPTS]
    return combined_script([*shared, *(_FOLDER / "script" / f"{name}.js" for name in _OWN_SCRIPTS)])


def style() -> str:
    return "".join((folder / name).read_text(encoding="utf-8") for folder, name in _STYLES)


_STYLES = ((REPORT_FOLDER, "page.css"), (_FOLDER, "site.css"))


def data_script(name: str, value: Any) -> str:
    """Return a data file: a script that passes JSON as text, because a page from disk may not read other files.

    As text it is nothing but data, whatever its keys are.
    """
    content = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # In single quotes: the many double ones of JSON stay as they are.
    quoted = content.replace("\\", "\\\\").replace("'", "\\'")
    return f"photometerData({json.dumps(name)},'{quoted}');\n"
