"""The suites that come with photometer. `photometer run standard` loads `standard.BENCHMARKS`."""
