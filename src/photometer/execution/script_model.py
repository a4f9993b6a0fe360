"""A TorchScript model scripted in a worker's child and saved where the orders that load it expect it.

The file's path is text in those orders' set-up, so it must be the same in every run: instruction counts and the cache
of compiled snippets depend on it. It is named after the content and the version of torch.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from photometer.errors import CacheError
from photometer.instruments.cpp.cache import default_cache_folder
from photometer.session.fork_server import ForkServer

# In the child: import the module by its path, because torch.jit.script reads the source from its file.
_SETUP = """\
import importlib.util, os
spec = importlib.util.spec_from_file_location("photometer_scripted", {module!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.jit_model.save({temporary!r})
os.replace({temporary!r}, {target!r})
"""


def model_folder(torch_version: str) -> Path:
    return default_cache_folder().parent / "models" / re.sub(r"[^\w.+-]", "_", torch_version)


def script_model(server: ForkServer, source: str, target: Path, timeout_seconds: float) -> None:
    """Run the module `source`, which makes `jit_model`, and save that to `target`, whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".scripting-") as folder:
            module = Path(folder) / "scripted.py"
            module.write_text(source, encoding="utf-8")
            setup = _SETUP.format(module=str(module), temporary=str(Path(folder) / "model.pt"), target=str(target))
            with server.child() as child:
                child.ask("prepare", timeout_seconds, stmt="pass", setup=setup)
    except OSError as error:
        raise CacheError(
            f"{target.parent}: scripted models cannot be kept there: {error.strerror or error}",
            remedy="Name a folder of yours in PHOTOMETER_CACHE.",
        ) from error
