"""The marks of asv_runner: they set the attributes that asv reads, which photometer_asv.py reads, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

_Marked = TypeVar("_Marked")


class SkipNotImplemented(NotImplementedError):
    """A set-up raises this where parameters are not meant to be measured."""


def skip_for_params(skip_params_list: Iterable[Any]) -> Callable[[_Marked], _Marked]:
    """Leave out these combinations of parameters."""
    return _marking(skip_params=list(skip_params_list))


def skip_params_if(skip_params_list: Iterable[Any], condition: object) -> Callable[[_Marked], _Marked]:
    """Leave out these combinations of parameters if the condition holds."""
    return _marking(skip_params=list(skip_params_list)) if condition else _marking()


def skip_benchmark(func: _Marked) -> _Marked:
    """Leave out a function or a class."""
    return _marking(skip_benchmark=True)(func)


def skip_benchmark_if(condition: object) -> Callable[[_Marked], _Marked]:
    """Leave out a function or a class if the condition holds."""
    return _marking(skip_benchmark=True) if condition else _marking()


def parameterize(param_dict: Mapping[str, Any]) -> Callable[[_Marked], _Marked]:
    """Give a function or a class its parameters, by their names."""
    return _marking(param_names=list(param_dict), params=list(param_dict.values()))


parameterize_class_with = parameterize_func_with = parameterize


def timeout_class_at(seconds: float) -> Callable[[_Marked], _Marked]:
    """Give up what takes longer."""
    return _marking(timeout=seconds)


timeout_func_at = timeout_class_at


def _marking(**attributes: Any) -> Callable[[_Marked], _Marked]:
    def mark(marked: _Marked) -> _Marked:
        for name, value in attributes.items():
            setattr(marked, name, value)
        return marked

    return mark
