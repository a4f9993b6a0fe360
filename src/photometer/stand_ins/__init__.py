"""Modules for benchmarks of other tools, inside the process that is measured.

The folder itself is on the path there: what is in it is imported by its bare name, by set-ups and by the users' files,
and photometer need not be installed. So these modules import the standard library and torch, nothing else. The loaders
in definition/ use the same modules to find what a file has, so that both sides agree.
"""
