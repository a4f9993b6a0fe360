"""The pytest process of one side, in place of a server: a zygote of that side's interpreter runs `main` in a fork.

photometer need not be installed there: the package is loaded under a private name, and only the worker and the modules
of this package that need nothing but pytest are used. The rest is in stopping.py.
"""

import importlib
import sys
import types

PACKAGE = "_photometer"


def main(channel: int, lifeline: int, folder: str) -> None:
    """Take the server's descriptors and folder. Never return."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = [__file__.rpartition("/")[0].rpartition("/")[0]]
    sys.modules[PACKAGE] = package
    importlib.import_module(f"{PACKAGE}.pytest_plugin.stopping").main(channel, lifeline, folder)
