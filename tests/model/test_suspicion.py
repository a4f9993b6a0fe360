from __future__ import annotations

import pytest

from photometer.model.records import from_record, to_record
from photometer.model.suspicion import Suspicion, SuspicionKind


@pytest.mark.parametrize("kind", list(SuspicionKind))
def test_every_kind_has_a_remedy_and_survives_json(kind: SuspicionKind) -> None:
    suspicion = Suspicion(kind, "it looks odd.")
    assert suspicion.remedy.endswith(".")
    assert str(suspicion) == f"it looks odd. {suspicion.remedy}"
    assert from_record(Suspicion, to_record(suspicion)) == suspicion
