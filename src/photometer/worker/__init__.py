"""The far side of the process line: what runs inside the environment that is measured.

Started by its path under any interpreter that has torch, so it imports the standard library and torch, nothing else,
and its modules import each other relatively (`from .protocol import …`): there the package is not called photometer.
"""
