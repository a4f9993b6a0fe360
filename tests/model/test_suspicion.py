from __future__ import annotations

import pytest

from photometer.model.suspicion import Suspicion, SuspicionKind


@pytest.mark.parametrize("kind", list(SuspicionKind))
def test_every_kind_has_a_remedy_and_survives_json(kind: SuspicionKind) -> None:
    suspicion = Suspicion(kind, "it looks odd.")
    assert suspicion.remedy.endswith(".")
    assert str(suspicion) == f"it looks odd. {suspicion.remedy}"
    assert Suspicion.from_json(suspicion.to_json()) == suspicion
