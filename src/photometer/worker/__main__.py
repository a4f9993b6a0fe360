"""Started by its path under the interpreter that is measured: `python …/worker/__main__.py`.

Loads its sibling files one by one, without putting their folder on the path: Python's importer keeps a listing of
every folder on the path, and one file more in such a folder moves instruction counts by up to 1 %.
"""

import sys
import types
from importlib.util import module_from_spec, spec_from_file_location

PACKAGE = "_photometer_worker"
# In the order in which they need each other.
SIBLINGS = (
    "accelerators",
    "protocol",
    "messages",
    "figure_messages",
    "user_error",
    "torch_here",
    "threads",
    "python_loop",
    "native_loop",
    "device_blocks",
    "own_trampolines",
    "python_frames",
    "valgrind_requests",
    "memory",
    "compile_report",
    "compile_counts",
    "seeds",
    "device_modes",
    "scatter",
    "heap",
    "imports",
    "preload",
    "work_counter",
    "ranks",
    "rank_guests",
    "child",
    "child_life",
    "server",
    "zygote",
)


def main() -> None:
    here = __file__.rpartition("/")[0]
    # Python 3.10 has no -P: it puts this folder first on the path.
    if here in sys.path:
        sys.path.remove(here)
        sys.path_importer_cache.pop(here, None)
    package = types.ModuleType(PACKAGE)
    package.__path__ = []
    sys.modules[PACKAGE] = package
    for name in SIBLINGS:
        spec = spec_from_file_location(f"{PACKAGE}.{name}", f"{here}/{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    if "--fresh" in sys.argv:
        sys.modules[f"{PACKAGE}.server"].main(sys.argv[1:])
    sys.modules[f"{PACKAGE}.zygote"].main()


if __name__ == "__main__":
    main()
