"""Stands in for the package `asv_runner`, of which suites use `benchmarks.mark`. asv need not be installed."""
