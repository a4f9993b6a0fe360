"""SharedFiles: files that one node made and others need: scripted models, and C++ built once per toolchain.

In: what nodes report. Out: for a piece of work, the files that must be on its node first. Ray keeps their content; a
node fetches what it does not have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from photometer.execution.executor import Done, Failure, MeasureOrder, Work
from photometer.instruments.cpp.snippet import BuiltSnippet


class SharedFiles:
    def __init__(self, put: Callable[[bytes], Any]) -> None:
        self._put = put
        self._made: dict[str, bytes] = {}
        self._refs: dict[str, Any] = {}
        # By toolchain: what replaces the library that the first one built.
        self._built: dict[str, dict[BuiltSnippet, BuiltSnippet]] = {}

    def add(self, files: Mapping[str, bytes]) -> None:
        """Take files that a node made. This does not call Ray: one of Ray's threads may call it."""
        self._made.update(files)

    def needed(self, work: Work | None) -> dict[str, list[Any]]:
        """Return references to the files that the work needs, in lists: Ray does not resolve references inside one."""
        if isinstance(work, MeasureOrder):
            library = None if work.ready.built is None else str(work.ready.built.library)
            models = [ready.model_path for ready in (work.ready, *work.against)]
            wanted = [path for path in (*models, library) if path is not None]
        else:
            # C++ may load any of the models when it is built or run.
            wanted = [path for path in (*self._made, *self._refs) if path.endswith(".pt")]
        return {path: [self._ref(path)] for path in wanted if path in self._made or path in self._refs}

    def as_built_by(self, toolchain: str, work: Work) -> Work:
        """Return the work with the library that this toolchain has built."""
        if not isinstance(work, MeasureOrder) or work.ready.built is None:
            return work
        replacement = self._built.get(toolchain, {}).get(work.ready.built)
        if replacement is None:
            return work
        return dataclasses.replace(work, ready=dataclasses.replace(work.ready, built=replacement))

    def all_built(
        self, first: Future[Done | Failure], others: Mapping[str, Future[Done | Failure]]
    ) -> Future[Done | Failure]:
        """Return the builds of all toolchains as one: a snippet that one of them cannot compile is a failure."""
        made: Future[Done | Failure] = Future()
        left = [first, *others.values()]

        def on_one(future: Future[Done | Failure]) -> None:
            left.remove(future)
            if not left:
                made.set_result(self._merged(first.result(), {name: each.result() for name, each in others.items()}))

        for future in tuple(left):
            future.add_done_callback(on_one)
        return made

    def _merged(self, first: Done | Failure, others: Mapping[str, Done | Failure]) -> Done | Failure:
        if isinstance(first, Failure):
            return first
        merged = list(first.outcomes)
        for toolchain, outcome in others.items():
            if isinstance(outcome, Failure):
                return outcome
            for place, (ours, theirs) in enumerate(zip(first.outcomes, outcome.outcomes, strict=True)):
                if isinstance(theirs, Failure):
                    merged[place] = theirs
                elif not isinstance(ours, Failure):
                    self._built.setdefault(toolchain, {})[ours] = theirs
        return Done(outcomes=tuple(merged))

    def _ref(self, path: str) -> Any:
        if path not in self._refs:
            self._refs[path] = self._put(self._made.pop(path))
        return self._refs[path]
