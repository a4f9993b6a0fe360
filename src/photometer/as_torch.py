"""Make `torch.utils.benchmark` be photometer, for code that cannot be changed.

    import photometer.as_torch                     first of all, before that code is imported
    python -m photometer.as_torch script.py …      or run a whole script, unchanged

Every path of torch.utils.benchmark leads to photometer then: the package, `utils.…` and `op_fuzzers.…`. What photometer
does not have (its `examples`) is still torch's own, and uses photometer.
"""

from __future__ import annotations

import importlib
import runpy
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TORCH_PATH = "torch.utils.benchmark"
# Paths below torch.utils.benchmark, each with what it leads to; the packages' own names come before what is in them.
MODULES = {
    "utils": "photometer.utils",
    "utils.common": "photometer.utils.common",
    "utils.timer": "photometer.utils.timer",
    "utils.compare": "photometer.utils.compare",
    "utils.compile": "photometer.utils.compile",
    "utils.cpp_jit": "photometer.utils.cpp_jit",
    "utils.fuzzer": "photometer.utils.fuzzer",
    "utils.sparse_fuzzer": "photometer.utils.sparse_fuzzer",
    "utils._stubs": "photometer.utils._stubs",
    "utils.valgrind_wrapper": "photometer.utils.valgrind_wrapper",
    "utils.valgrind_wrapper.timer_interface": "photometer.utils.valgrind_wrapper.timer_interface",
    "op_fuzzers": "photometer.op_fuzzers",
    "op_fuzzers.unary": "photometer.op_fuzzers.unary",
    "op_fuzzers.binary": "photometer.op_fuzzers.binary",
    "op_fuzzers.sparse_unary": "photometer.op_fuzzers.sparse_unary",
    "op_fuzzers.sparse_binary": "photometer.op_fuzzers.sparse_binary",
    "op_fuzzers.spectral": "photometer.op_fuzzers.spectral",
}


class _Facade(types.ModuleType):
    """The package torch.utils.benchmark: its names are photometer's, its folder is torch's."""

    def __getattr__(self, name: str) -> Any:
        import photometer

        if name.startswith("_"):
            raise AttributeError(f"module {TORCH_PATH!r} has no attribute {name!r}")
        return getattr(photometer, name)

    def __dir__(self) -> list[str]:
        import photometer

        return [*photometer.__all__, "utils", "op_fuzzers"]


def install() -> None:
    """Replace the modules. Code that has imported from torch.utils.benchmark before keeps those names."""
    import torch.utils

    import photometer

    if isinstance(sys.modules.get(TORCH_PATH), _Facade):
        return
    package = _Facade(TORCH_PATH, "photometer in the place of torch.utils.benchmark (see photometer.as_torch).")
    package.__path__ = [str(Path(torch.utils.__file__).parent / "benchmark")]
    package.__package__ = TORCH_PATH
    vars(package)["__all__"] = [name for name in photometer.__all__ if not name.startswith("_")]
    for name in [name for name in sys.modules if name.startswith(TORCH_PATH + ".")]:
        del sys.modules[name]
    sys.modules[TORCH_PATH] = package
    vars(torch.utils)["benchmark"] = package
    for below, ours in MODULES.items():
        module = importlib.import_module(ours)
        sys.modules[f"{TORCH_PATH}.{below}"] = module
        if "." not in below:
            setattr(package, below, module)


def main(arguments: Sequence[str]) -> None:
    """Run a script, or with -m a module, whose torch.utils.benchmark is photometer."""
    if not arguments or arguments[0] in ("-h", "--help") or (arguments[0] == "-m" and len(arguments) < 2):
        sys.stderr.write("usage: python -m photometer.as_torch (SCRIPT | -m MODULE) [ARGUMENT ...]\n")
        sys.exit(0 if arguments and arguments[0] != "-m" else 2)
    install()
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = list(arguments)
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
else:
    install()
