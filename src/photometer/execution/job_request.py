"""RequestMaker: a job and its cores as the JSON for the executor; it remembers the libraries of the build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from photometer.execution.agenda import Agenda, Job, Step
from photometer.execution.run_settings import RunSettings
from photometer.execution.script_model import model_folder
from photometer.plan.work_order import WorkOrder


class RequestMaker:
    """`facts` are the executor's answer to "describe"."""

    def __init__(
        self,
        agenda: Agenda,
        settings: RunSettings,
        facts: Mapping[str, Any],
        *,
        include_paths: Sequence[str] = (),
        import_paths: Sequence[str] = (),
        probe_folder: str = "",
    ) -> None:
        self._cpp_orders = agenda.cpp_orders
        self._settings = settings
        self._torch_folder = str(facts["torch_folder"])
        self._models = model_folder(str(facts["torch"]))
        self._libraries: dict[str, dict[str, str]] = {}
        self._include_paths = list(include_paths)
        self._import_paths = list(import_paths)
        self._probe_folder = probe_folder

    def request(self, job: Job, cores: Sequence[int]) -> dict[str, Any]:
        fields: dict[str, Any] = {"do": job.step.value, "cpus": list(cores)}
        if job.step is Step.BUILD:
            return fields | self._build()
        if job.model is not None:
            path = self._model_path(job.model.id)
            return fields | {"source": job.model.source, "path": str(path), "timeout_seconds": 120.0}
        assert job.order is not None
        order = job.order
        return fields | {
            "order": order.to_json(),
            "model_path": None if order.model_id is None else str(self._model_path(order.model_id)),
            "built": self._libraries.get(order.id),
            "min_run_time": self._settings.min_run_time,
            "repeats": self._settings.repeats,
            "path": self._import_paths,
            "folder": self._probe_folder,
        }

    def keep_libraries(self, outcomes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """The outcome of the build, by order. Answers the errors of those that did not compile."""
        errors = {}
        for order, outcome in zip(self._cpp_orders, outcomes, strict=True):
            if "error" in outcome:
                errors[order.id] = dict(outcome["error"])
            else:
                self._libraries[order.id] = {"library": outcome["library"], "symbol": outcome["symbol"]}
        self._cpp_orders = ()
        return errors

    def _build(self) -> dict[str, Any]:
        orders = [self._with_model(order) for order in self._cpp_orders]
        return {
            "snippets": [[order.args.stmt, order.args.setup, order.args.global_setup] for order in orders],
            "torch_folder": self._torch_folder,
            "include_paths": self._include_paths,
        }

    def _with_model(self, order: WorkOrder) -> WorkOrder:
        return order if order.model_id is None else order.with_model_path(str(self._model_path(order.model_id)))

    def _model_path(self, model_id: str) -> Path:
        return self._models / f"{model_id}.pt"
