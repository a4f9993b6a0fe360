"""Started by its path under the interpreter of one side: `python …/pytest_plugin/far_side.py`.

photometer need not be installed there: the package is loaded under a private name, and only the worker and the modules
of this package that need nothing but pytest are used. The rest is in stopping.py.
"""

import importlib
import sys
import types

PACKAGE = "_photometer"


def main() -> None:
    here = __file__.rpartition("/")[0]
    # Python 3.10 has no -P: it puts this folder at the start of the path.
    if here in sys.path:
        sys.path.remove(here)
        sys.path_importer_cache.pop(here, None)
    package = types.ModuleType(PACKAGE)
    package.__path__ = [here.rpartition("/")[0]]
    sys.modules[PACKAGE] = package
    importlib.import_module(f"{PACKAGE}.pytest_plugin.stopping").main(sys.argv[1:])


if __name__ == "__main__":
    main()
