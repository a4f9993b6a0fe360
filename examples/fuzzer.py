"""Timer and Fuzzer: one operation over random shapes and layouts, and which of them are slow.

    $ python -m examples.fuzzer

A Fuzzer is a description of inputs. Taking from it again gives the same inputs, so a second environment, or a second
attempt, measures the same trial.
"""

from __future__ import annotations

import argparse

import photometer

# `x` and `y` have one shape of two or three dimensions; a quarter of each is permuted in memory.
ADD_FUZZER = photometer.Fuzzer(
    parameters=[
        [photometer.FuzzedParameter(f"k{i}", 16, 16 * 1024, "loguniform") for i in range(3)],
        photometer.FuzzedParameter("d", distribution={2: 0.6, 3: 0.4}),
    ],
    tensors=[
        [
            photometer.FuzzedTensor(
                name,
                size=("k0", "k1", "k2"),
                dim_parameter="d",
                probability_contiguous=0.75,
                min_elements=64 * 1024,
                max_elements=128 * 1024,
            )
            for name in ("x", "y")
        ],
    ],
    seed=0,
)


def nanoseconds_per_element(measurement: photometer.Measurement) -> float:
    assert measurement.metadata is not None
    return measurement.median / float(measurement.metadata["numel"]) * 1e9


def measure(count: int, min_run_time: float) -> list[photometer.Measurement]:
    measurements = []
    for index, (tensors, properties, _) in enumerate(ADD_FUZZER.take(count)):
        layouts = [
            "contiguous" if properties[name]["is_contiguous"] else str(properties[name]["order"]) for name in ("x", "y")
        ]
        shape = " x ".join(str(length) for length in tensors["x"].shape)
        timer = photometer.Timer("x + y", globals=tensors, description=f"{shape:<18} {layouts[0]:<11} {layouts[1]:<11}")
        measurement = timer.blocked_autorange(min_run_time=min_run_time)
        measurement.metadata = {"numel": properties["x"]["numel"], "index": index}
        measurements.append(measurement)
    return measurements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=80, help="how many inputs")
    parser.add_argument("--min-run-time", type=float, default=0.02, help="seconds for each")
    arguments = parser.parse_args()

    measurements = sorted(measure(arguments.n, arguments.min_run_time), key=nanoseconds_per_element)
    print(f"{1 / (1 - ADD_FUZZER.rejection_rate):.1f} draws for each set of parameters that keeps the limits")
    for title, chosen in (("Best", measurements[:8]), ("Worst", measurements[-8:])):
        print(f"\n{title}:  ns an element   x shape            x           y")
        for measurement in chosen:
            print(f"{nanoseconds_per_element(measurement):18.3f}    {measurement.description}")
    worst = measurements[-1]
    assert worst.metadata is not None
    print(f"\nThe worst again, alone:\n{ADD_FUZZER.rebuild_line(worst.metadata['index'])}")


if __name__ == "__main__":
    main()
