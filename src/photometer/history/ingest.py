"""Add results files to a store: find out which commit and project a file belongs to, and add its records.

In: a loaded file and the repository here, if there is one. Out: Added. A commit that git no longer knows is kept by its
name and the date of the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from photometer.history.identity import about_of, kind_of, started_at
from photometer.history.nouns import Added, Commit
from photometer.history.repository import Repository
from photometer.history.store import Store
from photometer.history.writing import Origin
from photometer.model.comparison_replicate import header_of_side, records_of_side, sides_in
from photometer.model.results_reader import load_results
from photometer.model.visit import unfinished_in, with_unfinished

LIVE = "live"


def add_file(
    store: Store,
    path: str | Path,
    *,
    commit: str | None = None,
    branch: str = "",
    recover: bool = False,
    project: str = "",
) -> Added:
    """Add a results file. `commit` replaces the file's own, if it has none or a wrong one."""
    path = Path(path)
    results = load_results(path, recover)
    sides = sides_in(results.header)
    added = []
    # A store keeps comparisons of two sides: one of more is kept as several.
    for place in range(1, max(sides, 2)):
        header, records = results.header, results.records
        if sides > 2:
            header, records = header_of_side(header, place), tuple(records_of_side(records, place))
        origin = origin_of(header, Repository.find(), commit=commit, branch=branch, source=path.name)
        if project:
            origin = dataclasses.replace(origin, project=project)
        added.append(store.add_run(header, records, origin))
    return Added(
        added[0].run_id,
        sum(each.new for each in added),
        sum(each.known for each in added),
        not_final=unfinished_in(with_unfinished(results)),
    )


def origin_of(
    header: Mapping[str, Any],
    repository: Repository | None,
    *,
    commit: str | None = None,
    branch: str = "",
    source: str = LIVE,
) -> Origin:
    """Return the origin of a run, from its header and from git."""
    about, machine = about_of(header), header.get("machine")
    facts = machine if isinstance(machine, Mapping) else {}
    date = started_at(header)
    base: Commit | None = None
    if commit is not None and repository is not None:
        own: Commit | None = repository.commit(commit)
        is_dirty = False
    elif kind_of(header) == "compare":
        base = _commit(_side(about, "base").get("commit"), repository, date)
        side = _side(about, "branch")
        own, is_dirty = _commit(side.get("commit"), repository, date), side.get("tree") is not None
    else:
        named = about.get("commit") or facts.get("commit")
        own, is_dirty = _commit(named, repository, date), bool(facts.get("commit_is_dirty")) and not about.get("commit")
    return Origin(
        project=str(about.get("project") or (repository.project() if repository is not None else "")),
        commit=own,
        base_commit=base,
        branch=branch or str(about.get("branch_name") or (repository.branch() if repository is not None else "")),
        is_dirty=is_dirty,
        source=source,
    )


def _commit(name: Any, repository: Repository | None, date: int) -> Commit | None:
    if not isinstance(name, str) or not name:
        return None
    found = None if repository is None else repository.find_commit(name)
    return found or Commit(name, committed_at=date, authored_at=date)


def _side(about: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    side = about.get(name)
    return side if isinstance(side, Mapping) else {}
