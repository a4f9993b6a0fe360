"""The tables of docs/overrides.md from one run of the suite, and whether a second run counted the same.

photometer run overrides -o first
photometer run overrides -o second
python benchmarks/overrides_tables.py first/results.json second/results.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from photometer.model.instruction_counts import InstructionCounts
from photometer.model.records import from_record
from photometer.model.results_reader import Results, load_results
from photometer.model.units import format_seconds

Step = dict[str, Any]


def steps_of(results: Results) -> list[Step]:
    return [dict(record) for record in results.records if record["kind"] == "ladder_step"]


def cell(step: Step | None) -> str:
    if step is None or step["added_seconds"] is None:
        return ""
    seconds = step["added_seconds"]
    time = (
        f"{seconds * 1e9:+.1f} ns"
        if abs(seconds) < 1e-8
        else f"{'+' if seconds > 0 else '−'}" + format_seconds(abs(seconds), 3)
    )
    instructions = step["added_instructions"]
    return time if instructions is None else f"{time}, {round(instructions):+,}"


def table(steps: list[Step], calls: list[str]) -> None:
    by_place = {(step["call"], step["rung"]): step for step in steps}
    rungs = dict.fromkeys((step["rung"], step["below"]) for step in steps if step["below"] and step["call"] in calls)
    print(
        f"\n| rung | over | {' | '.join(call.split(' › ')[-1] for call in calls)} |\n| --- | --- |"
        + " ---: |" * len(calls)
    )
    for rung, below in rungs:
        print(f"| {rung} | {below} | " + " | ".join(cell(by_place.get((call, rung))) for call in calls) + " |")


def counts_of(results: Results) -> dict[str, tuple[int, ...]]:
    return {
        record["order"]["id"]: tuple(repeat.total for repeat in from_record(InstructionCounts, record).repeats)
        for record in results.records
        if record["kind"] == "instruction_counts"
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path, nargs="?")
    asked = parser.parse_args()
    first = load_results(asked.first)
    steps = steps_of(first)
    calls = list(dict.fromkeys(step["call"] for step in steps))
    positions = [call for call in calls if " › " in call]
    table(steps, [call for call in calls if call not in positions])
    table(steps, positions)
    if asked.second is not None:
        ours, theirs = counts_of(first), counts_of(load_results(asked.second))
        both = ours.keys() & theirs.keys()
        same = sum(ours[order] == theirs[order] for order in both)
        print(f"\n{same} of {len(both)} cases were counted the same to the instruction in both runs, in every repeat.")


if __name__ == "__main__":
    main()
