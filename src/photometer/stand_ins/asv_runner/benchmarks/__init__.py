"""Where suites find `mark`."""
