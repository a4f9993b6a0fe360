"""What a search for a commit found, as text: the commit, the change of each benchmark, the functions."""

from __future__ import annotations

from photometer.commits.search import ChangedBenchmark, FirstCommit
from photometer.history.nouns import Commit, Metric
from photometer.history.points import INSTRUCTIONS, PEAK_MEMORY, UNDISTURBED
from photometer.history.text import FUNCTIONS_SHOWN, format_change, format_day, format_value, visible_block

_METRICS: dict[str, Metric] = {"instructions": INSTRUCTIONS, "memory": PEAK_MEMORY, "time": UNDISTURBED}


def render_first(found: FirstCommit) -> str:
    if found.commit is not None:
        lines = [f"{found.commit.sha} is the first commit that changed {found.metric}", *_about(found.commit)]
    else:
        last = found.candidates[-1]
        lines = [f"one of {len(found.candidates)} commits changed {found.metric}; those before it do not run:"]
        lines += [f"  {commit.short}  {commit.subject}" for commit in found.candidates]
        lines += [f"{last.short} is known to differ from {found.last_same.short}"]
    for change in found.changes:
        lines += _change(change)
    tried = f"{found.steps} steps over {found.commits} commits"
    lines.append(tried + (f", {len(found.untestable)} could not be tested" if found.untestable else ""))
    return visible_block(lines)


def _about(commit: Commit) -> list[str]:
    return [f"  {commit.author}, {format_day(commit.authored_at)}", f"  {commit.subject}"]


def _change(change: ChangedBenchmark) -> list[str]:
    metric = _METRICS[change.metric]
    relative = (change.after - change.before) / change.before if change.before else float("inf")
    values = f"{format_value(change.before, metric)} → {format_value(change.after, metric)}"
    lines = [f"{format_change(relative):>9}  {change.title}: {values}"]
    if change.verdict is not None:
        lines.append(f"           {change.verdict.judged.reason}")
    named = [f"{each.function} ({each.instructions_per_run:+,.0f})" for each in change.functions][:FUNCTIONS_SHOWN]
    return [*lines, f"           most in {', '.join(named)}"] if named else lines
