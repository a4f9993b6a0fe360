"""The steps of action.yml, run as GitHub's runner runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step.get("id", step["name"]): step for step in ACTION["runs"]["steps"]}


def run_step(
    name: str, folder: Path, inputs: dict[str, str], checkout: Path | None = None, /, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does: its script in bash, its variables from inputs, nothing pasted into the script.

    `folder` is the runner's temporary one; the script runs in `checkout`.
    """
    step = STEPS[name]
    assert "${{" not in step["run"], "an input in a script would be run as code"
    own = {}
    for key, value in step.get("env", {}).items():
        expression = value.strip().removeprefix("${{").removesuffix("}}").strip()
        kind, _, rest = expression.partition(".")
        own[key] = inputs.get(rest, ACTION["inputs"][rest]["default"]) if kind == "inputs" else variables.get(key, "")
    script = folder / f"{name}.sh"
    script.write_text(step["run"])
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_ACTION_PATH": str(ROOT),
        **{key: os.environ[key] for key in ("PHOTOMETER_CACHE",) if key in os.environ},
        **variables,
        **own,
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    return subprocess.run(command, cwd=checkout or folder, env=environment, capture_output=True, text=True, check=False)
