"""The far side of a build: `python -m photometer.execution.build_process` compiles what it reads and answers in JSON.

A process of its own, so that stopping a run stops its compilers at once. Its standard input stays open as a lifeline:
when the run is gone, so is this process with all it has started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from photometer.errors import BuildError, PhotometerError
from photometer.execution.executor import failure_answer
from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import CppOptions, CppSnippet
from photometer.instruments.cpp.torch_build import torch_build_from_folder


def main() -> None:
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    try:
        answer = {"ok": True, "outcomes": build(request)}
    except PhotometerError as error:
        answer = failure_answer(error)
    sys.stdout.write(json.dumps(answer))


def build(request: dict[str, Any]) -> list[dict[str, Any]]:
    snippets = [CppSnippet(*texts) for texts in request["snippets"]]
    options = CppOptions(include_paths=tuple(map(Path, request.get("include_paths", ()))))
    outcomes = build_snippets(
        snippets, torch_build=torch_build_from_folder(Path(request["torch_folder"])), options=options
    )
    return [
        {"error": failure_answer(outcome)["error"]}
        if isinstance(outcome, BuildError)
        else {"library": str(outcome.library), "symbol": outcome.symbol}
        for outcome in outcomes
    ]


def _end_with_the_run() -> None:
    sys.stdin.read()
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main()
