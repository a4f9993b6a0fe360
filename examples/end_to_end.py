"""From a fuzzer, through two implementations, to a comparison and its report.

    $ python -m examples.end_to_end

The question: is the variance written out by hand as fast as `torch.var`, and for which inputs is it not? First a few
inputs in a table, then many in a map that says what the slow ones have in common, then both as pages.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import photometer

IMPLEMENTATIONS = {
    "by hand": "((x - x.mean(axis, keepdim=True)) ** 2).mean(axis)",
    "torch.var": "torch.var(x, axis, correction=0)",
}


def measure(fuzzer: photometer.Fuzzer, count: int, min_run_time: float) -> list[photometer.Measurement]:
    """Every implementation on the first few inputs, labelled for a table with a column per input."""
    measurements = []
    for tensors, _, params in fuzzer.take(count):
        for name, statement in IMPLEMENTATIONS.items():
            timer = photometer.Timer(
                statement,
                globals={**tensors, **params},
                label="variance",
                sub_label=name,
                description=f"{tuple(tensors['x'].shape)} axis {params['axis']}",
            )
            measurements.append(timer.blocked_autorange(min_run_time=min_run_time))
    return measurements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=50, help="inputs of the map")
    parser.add_argument("--seconds-per-input", type=float, default=0.06)
    parser.add_argument("--output", type=Path, default=Path(tempfile.gettempdir()) / "photometer_end_to_end")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    fuzzer = photometer.fuzzers.ReductionFuzzer(seed=4, max_elements=2**17)
    measurements = measure(fuzzer, count=4, min_run_time=0.05)
    comparison = photometer.Compare(measurements)
    comparison.trim_significant_figures()
    comparison.colorize()
    comparison.print()

    by_hand, library = IMPLEMENTATIONS.values()
    found = photometer.fuzz(
        by_hand, fuzzer, against=library, count=arguments.n, min_run_time=arguments.seconds_per_input
    )
    print()
    print(photometer.fuzzers.render_fuzz_text(found, rows_at_each_end=4))

    results, table, page = (arguments.output / name for name in ("results.json", "table.html", "map.html"))
    photometer.save(results, measurements)
    table.write_text(comparison.to_html(), encoding="utf-8")
    text = photometer.fuzzers.render_fuzz_page(found, title="Variance, by hand and by torch", notes=[repr(fuzzer)])
    page.write_text(text, encoding="utf-8")
    print("Written: " + ", ".join(str(path) for path in (results, table, page)))


if __name__ == "__main__":
    main()
