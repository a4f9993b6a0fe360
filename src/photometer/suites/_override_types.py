"""The types of the ladder: replacements for a tensor, and modes around a call. Each does as little as it can.

Their text is put into the set-up of the rungs that need them (see overrides.py), because photometer need not be
installed in the measured environment. So they use torch and each other, nothing else. Each of them calls the given
function on plain tensors: what is measured beyond that is the cost of overriding.
"""

from __future__ import annotations

from typing import Any

import torch


def plain_of(value: Any) -> Any:
    """Return what a tensor-like or a wrapper holds, also inside a list; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return [plain_of(item) for item in value]
    return getattr(value, "plain", value)


class SubTensor(torch.Tensor):  # type: ignore[misc]
    """A subclass that overrides nothing: it inherits torch.Tensor.__torch_function__."""


class SubWithTorchFunction(torch.Tensor):  # type: ignore[misc]
    """A subclass with its own __torch_function__, which calls the inherited one."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs)


class WithTorchFunction:
    """A tensor-like: not a tensor, but torch's functions take it because of its __torch_function__."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = {name: plain_of(value) for name, value in kwargs.items()} if kwargs else {}
        return cls(func(*[plain_of(value) for value in args], **named))


class DisabledTorchFunction(torch.Tensor):  # type: ignore[misc]
    """A subclass that switches the inherited __torch_function__ off, as wrappers with __torch_dispatch__ do."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class TorchDispatchSubclass(torch.Tensor):  # type: ignore[misc]
    """A wrapper subclass with __torch_dispatch__, called below autograd; its __torch_function__ is switched off."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls: Any, plain: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, plain.shape, dtype=plain.dtype)

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = {name: plain_of(value) for name, value in kwargs.items()} if kwargs else {}
        result = func(*[plain_of(value) for value in args], **named)
        # Below autograd, torch.batch_norm returns its statistics too.
        return tuple(cls(part) for part in result) if isinstance(result, tuple) else cls(result)


class FunctionMode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """A mode that receives every torch function, and calls it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class DispatchMode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """A mode that receives every operator below autograd, and calls it."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))
