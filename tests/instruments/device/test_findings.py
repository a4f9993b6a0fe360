from __future__ import annotations

import torch

from photometer.instruments.device.findings import constant_inputs


def test_tensors_of_one_value_are_named_with_it() -> None:
    variables = {
        "zeros": torch.zeros(8, 16),
        "ones": torch.ones(100),
        "random": torch.randn(100),
        "few": torch.zeros(3),
        "indices": torch.zeros(100, dtype=torch.int64),
        "number": 3,
        "text": "zeros",
    }
    assert constant_inputs(variables, "cpu") == ["zeros (all 0)", "ones (all 1)"]


def test_containers_are_looked_into() -> None:
    variables = {"pair": [torch.randn(100), torch.zeros(100)], "named": {"w": (torch.zeros(100),)}}
    assert constant_inputs(variables, "cpu") == ["pair (all 0)", "named (all 0)"]


def test_tensors_elsewhere_do_not_matter() -> None:
    assert constant_inputs({"x": torch.zeros(100)}, "cuda") == []
    assert constant_inputs({"x": torch.zeros(100, device="meta")}, "cpu") == []


def test_other_layouts_and_gradients_do_no_harm() -> None:
    sparse = torch.eye(100).to_sparse()
    wanted = torch.zeros(100, requires_grad=True)
    assert constant_inputs({"s": sparse, "w": wanted}, "cpu") == ["w (all 0)"]
