"""uv: its path, and the index settings that it should use.

uv does not read pip's settings. A user who has set an index for pip means it for every installer, so pip's settings are
passed to uv unless uv has some of its own.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from photometer.programs import run_program

# Any of these set means that the user has set an index for uv itself.
UV_INDEX_VARIABLES = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_NO_INDEX",
)
_UV_FILE_SETTINGS = re.compile(r"^\s*(\[\[index\]\]|index-url|extra-index-url|find-links|no-index)", re.MULTILINE)
_PIP_SETTING = re.compile(r"^(?P<section>[\w:-]+)\.(?P<name>[\w-]+)=(?P<value>.+)$", re.MULTILINE)
# What pip reads for a command, the strongest last: [global], [install], variables.
_SECTIONS = ("global", "install", ":env:")
PIP_CONFIG_SECONDS = 60.0


def find_uv() -> str | None:
    """Return uv on PATH, or the one installed beside this interpreter."""
    found = shutil.which("uv")
    if found is not None:
        return found
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.is_file() else None


def uv_variables() -> dict[str, str]:
    """Return the environment for uv: the caller's, with pip's index settings if uv has none of its own."""
    variables = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    if has_own_index_settings(variables):
        return variables
    return {**variables, **from_pip_settings(pip_settings())}


def has_own_index_settings(variables: Mapping[str, str]) -> bool:
    """Whether uv has index settings, from variables or a configuration file."""
    if any(variables.get(name) for name in UV_INDEX_VARIABLES):
        return True
    chosen = variables.get("UV_CONFIG_FILE")
    user = Path(variables.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    project = [folder / name for folder in (Path.cwd(), *Path.cwd().parents) for name in ("uv.toml", "pyproject.toml")]
    files = [Path(chosen)] if chosen else [Path("/etc/uv/uv.toml"), user / "uv" / "uv.toml", *project]
    return any(_mentions_index(file) for file in files)


def _mentions_index(file: Path) -> bool:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    if file.name == "pyproject.toml":
        # Only uv's own tables: other tools have settings of these names, too.
        text = "".join(re.findall(r"^(\[+tool\.uv.*?)(?=^\[(?!\[?tool\.uv)|\Z)", text, re.MULTILINE | re.DOTALL))
        text = text.replace("[[tool.uv.index]]", "[[index]]")
    return _UV_FILE_SETTINGS.search(text) is not None


def pip_settings() -> dict[str, str]:
    """Return pip's settings for installing, by name, as pip itself combines them; none if there is no pip."""
    found: dict[str, dict[str, str]] = {}
    for match in _PIP_SETTING.finditer(_pip_config()):
        value = ast.literal_eval(match["value"]) if match["value"][:1] in "'\"" else match["value"]
        found.setdefault(match["section"], {})[match["name"]] = str(value)
    return {name: value for section in _SECTIONS for name, value in found.get(section, {}).items()}


def _pip_config() -> str:
    """Return the output of `pip config list`: of this interpreter's pip, or of the one on PATH if it has none."""
    outside = shutil.which("pip")
    commands = [[sys.executable, "-m", "pip"], *([[outside]] if outside is not None else [])]
    for command in commands:
        try:
            done = run_program([*command, "config", "list"], PIP_CONFIG_SECONDS)
        except OSError:
            continue
        if done.returncode == 0:
            return done.stdout
    return ""


def from_pip_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that give uv pip's settings."""
    variables = {}
    if "index-url" in settings:
        variables["UV_DEFAULT_INDEX"] = settings["index-url"]
    if "extra-index-url" in settings:
        variables["UV_INDEX"] = " ".join(settings["extra-index-url"].split())
    if "find-links" in settings:
        variables["UV_FIND_LINKS"] = ",".join(settings["find-links"].split())
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        variables["UV_NO_INDEX"] = "1"
    if "trusted-host" in settings:
        variables["UV_INSECURE_HOST"] = " ".join(settings["trusted-host"].split())
    if "cert" in settings:
        variables["SSL_CERT_FILE"] = settings["cert"]
    if variables.keys() & {"UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS"}:
        # pip takes the best version of all indexes; uv, by default, of the first that has the package.
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return variables
