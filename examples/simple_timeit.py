"""Time one statement: `python -m examples.simple_timeit`.

Like the standard library's timeit, but the answer is a Measurement: it knows its spread, how sure its median is, and
when it should not be believed.
"""

from __future__ import annotations

import photometer


def main() -> None:
    timer = photometer.Timer(
        stmt="x + y",
        setup="x = torch.ones((4, 8)); y = torch.ones((1, 8))",
        label="Broadcasting add (4x8)",
    )

    print("One block of a fixed number of runs, as timeit does it:")
    print(timer.timeit(10_000), "\n")

    print("Blocks of a suitable number of runs, for a fifth of a second:")
    print(timer.blocked_autorange(), "\n")

    print("Until the median is known to within one per cent, for at most two seconds:")
    print(timer.blocked_autorange(precision=0.01, max_run_time=2.0))


if __name__ == "__main__":
    main()
