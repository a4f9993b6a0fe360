"""The suites that come with photometer: definitions only. `photometer run standard` loads `standard.BENCHMARKS`."""
