"""Three comparisons of other people's projects, as their maintainers would make them: docs/case-studies.md.

    git clone THE-REPOSITORY-OF-TENSORDICT tensordict
    python -m benchmarks.case_studies --tensordict tensordict [--only NAME …] [--folder DIR] [--figures]

Each is one `photometer compare`, whose results go to DIR/NAME; a comparison that was stopped is continued there. Then
the tables of all comparisons that are in DIR are printed. --figures writes them to docs/figures, for the page.

tensordict  a commit that makes TensorDict.__init__ faster, against its parent; both are built (C++, cmake)
einops      two releases, laid over this environment
torch       two releases, in environments of their own (some gigabytes), over the standard suite
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import write_figures

from photometer import EnvironmentComparison
from photometer.analysis.comparison_reader import read_comparison
from photometer.analysis.comparison_result import ComparisonResult
from photometer.analysis.verdict import VERDICT_WORDS
from photometer.comparing.comparison_file import FILE_NAME
from photometer.model.results_reader import load_results
from photometer.model.units import change, format_seconds, percent, span

CASES = ("tensordict", "einops", "torch")
# "[Performance] Speed up TensorDict.__init__ by bypassing set() dispatch chain (#1551)"
TENSORDICT_COMMIT = "24307f874"
COLUMNS = ("base", "branch", "change", "interval", "instructions", "verdict")
SUMMARY = "case_studies"
# The page shows so many of those that changed most.
MOST_SHOWN = 12

# What the commit names, what calls it, and what should not change.
TENSORDICT = '''
from photometer import GroupedSetup, GroupedStmts

SETUP = GroupedSetup("""
import torch
from tensordict import TensorDict
x = torch.zeros(3, 4)
one = {"a": x}
ten = {str(i): x for i in range(10)}
hundred = {str(i): x for i in range(100)}
nested = {"a": x, "b": {"c": x, "d": {"e": x}}}
tuples = {("a", "b"): x, ("a", "c"): x}
td = TensorDict(ten, [3])
""")

BENCHMARKS = {
    "construct": {
        "empty": GroupedStmts("TensorDict({}, [3])", setup=SETUP),
        "one entry": GroupedStmts("TensorDict(one, [3])", setup=SETUP),
        "ten entries": GroupedStmts("TensorDict(ten, [3])", setup=SETUP),
        "hundred entries": GroupedStmts("TensorDict(hundred, [3])", setup=SETUP),
        "nested": GroupedStmts("TensorDict(nested, [3])", setup=SETUP),
        "tuples as keys": GroupedStmts("TensorDict(tuples, [3])", setup=SETUP),
    },
    "use": {
        "get": GroupedStmts("td['3']", setup=SETUP),
        "set": GroupedStmts("td['3'] = x", setup=SETUP),
        "clone": GroupedStmts("td.clone()", setup=SETUP),
        "index": GroupedStmts("td[0]", setup=SETUP),
        "add": GroupedStmts("td + 1", setup=SETUP),
    },
}
'''

EINOPS = '''
from photometer import GroupedSetup, GroupedStmts

# einops imports torch._dynamo when it first sees a tensor: here it is imported once, not in every process.
SETUP = GroupedSetup("""
import torch
import torch._dynamo
from einops import pack, parse_shape, rearrange, reduce, repeat
x = torch.rand(2, 3, 8, 8)
array = x.numpy()
""")

BENCHMARKS = {
    "torch": {
        "rearrange": GroupedStmts("rearrange(x, 'b c h w -> b (h w) c')", setup=SETUP),
        "rearrange, nothing to do": GroupedStmts("rearrange(x, 'b c h w -> b c h w')", setup=SETUP),
        "reduce": GroupedStmts("reduce(x, 'b c (h p) (w q) -> b c h w', 'mean', p=2, q=2)", setup=SETUP),
        "repeat": GroupedStmts("repeat(x, 'b c h w -> b c (h r) w', r=2)", setup=SETUP),
        "pack": GroupedStmts("pack([x, x], 'b * w')", setup=SETUP),
        "parse_shape": GroupedStmts("parse_shape(x, 'b c _ w')", setup=SETUP),
    },
    "numpy": {
        "rearrange": GroupedStmts("rearrange(array, 'b c h w -> b (h w) c')", setup=SETUP),
        "reduce": GroupedStmts("reduce(array, 'b c (h p) (w q) -> b c h w', 'mean', p=2, q=2)", setup=SETUP),
    },
}
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=CASES, default=CASES, help="nothing after it: print what is there")
    parser.add_argument("--folder", type=Path, default=Path("case-studies"), help="where results go")
    parser.add_argument("--tensordict", type=Path, help="a clone of tensordict")
    parser.add_argument("--einops", nargs=2, default=("0.6.0", "0.8.0"), metavar="VERSION")
    parser.add_argument("--torch", nargs=2, default=("2.12.1", "2.14.1"), metavar="VERSION")
    parser.add_argument("--budget", help="seconds to measure each comparison (default: what compare takes)")
    parser.add_argument("--limit", help="seconds that each comparison may take in all; called again, it continues")
    parser.add_argument("-k", help="the part of the standard suite that the two torch releases run")
    parser.add_argument("--figures", action="store_true", help="write docs/figures/case_….json")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for case in given.only:
        run(case, given)
    there = [case for case in CASES if (given.folder / case / FILE_NAME).exists()]
    # One that was stopped has verdicts in its file, too; one that has only begun has none.
    found = {case: each for case in there if len((each := comparison_in(given.folder / case)).results)}
    tables = {case: {result.title: row_of(result) for result in comparison} for case, comparison in found.items()}
    summary = {case: summary_of(comparison) for case, comparison in found.items()}
    for case, table in tables.items():
        base, branch = found[case].names
        print(f"\n{case}: {base} against {branch}\n")
        show(COLUMNS, dict(list(table.items())[:MOST_SHOWN]))
        if len(table) > MOST_SHOWN:
            print(f"\n{len(table) - MOST_SHOWN} more")
    print()
    show(("benchmarks", *VERDICT_WORDS, "failed"), summary)
    if given.figures:
        for case, table in tables.items():
            write_figures(f"case_{case}", COLUMNS, table, kept=given.folder / case / FILE_NAME)
        write_figures(SUMMARY, ("benchmarks", *VERDICT_WORDS, "failed"), summary)


def run(case: str, given: argparse.Namespace) -> None:
    """Compare, or continue a comparison that was stopped."""
    output = (given.folder / case).resolve()
    words = ["compare", *sides_of(case, given), "-o", str(output), "--fail-on", "never"]
    words += ["--resume"] if (output / FILE_NAME).exists() else []
    words += ["--budget", given.budget] if given.budget else []
    words += ["--limit", given.limit] if given.limit else []
    command = [sys.executable, "-m", "photometer", *words]
    print(f"$ photometer {shlex.join(words)}", file=sys.stderr)
    ended = subprocess.run(command, cwd=given.tensordict if case == "tensordict" else None, check=False)
    # One that the limit stopped has kept what it knew.
    if ended.returncode and not (given.limit and (output / FILE_NAME).exists()):
        raise SystemExit(ended.returncode)


def sides_of(case: str, given: argparse.Namespace) -> list[str]:
    """Return the two sides of a comparison, and what they run."""
    if case == "tensordict":
        if given.tensordict is None:
            raise SystemExit("--tensordict CLONE: a clone of the repository of tensordict")
        suite = written(given.folder / "tensordict_suite.py", TENSORDICT)
        revisions = [f"git:{TENSORDICT_COMMIT}~1", f"git:{TENSORDICT_COMMIT}"]
        return [*revisions, "--suite", suite, "--install", "pip install ."]
    if case == "einops":
        suite = written(given.folder / "einops_suite.py", EINOPS)
        return [*(f"pip:einops=={version}" for version in given.einops), "--suite", suite]
    part = ["-k", given.k] if given.k else []
    return [*(f"pip:torch=={version} numpy" for version in given.torch), "--suite", "standard", *part]


def written(path: Path, text: str) -> str:
    path.write_text(text.lstrip(), encoding="utf-8")
    return str(path.resolve())


def comparison_in(folder: Path) -> EnvironmentComparison:
    comparison = read_comparison(load_results(folder / FILE_NAME))
    assert comparison is not None, f"{folder} has no comparison"
    return comparison


def row_of(result: ComparisonResult) -> list[str]:
    """Return what the page shows of a benchmark, in the order of COLUMNS."""
    judged, instructions = result.judged, result.instructions
    counted = "–" if instructions is None else percent(instructions.ratio - 1, signed=True)
    times = [format_seconds(each, 3) for each in (judged.base_seconds, judged.base_seconds * judged.ratio)]
    if judged.verdict == "identical":
        return [*times, "–", "–", counted, judged.words]
    return [*times, change(judged.ratio), span(judged.interval), counted, judged.words]


def summary_of(comparison: EnvironmentComparison) -> list[str]:
    verdicts = Counter[str](result.verdict for result in comparison)
    failed = len(comparison.failures) + len(comparison.not_reached)
    return [str(len(comparison.rows)), *(str(verdicts[word]) for word in VERDICT_WORDS), str(failed)]


def show(columns: Sequence[str], rows: dict[str, list[str]]) -> None:
    print(f"| | {' | '.join(columns)} |\n|{' --- |' * (len(columns) + 1)}")
    for name, values in rows.items():
        print(f"| {name} | {' | '.join(values)} |")


if __name__ == "__main__":
    main()
