"""`triptych.compat.testing` under its shorter name."""

from __future__ import annotations

from triptych.compat.testing import (
    AutotunedFunction,
    CantImplementError,
    JitArguments,
    add_tensor_init_args,
    autotune_jit,
    benchmark,
    convert,
    get_workspace_count,
    tune,
    validate_tensor_init_args,
)

__all__ = [
    "AutotunedFunction",
    "CantImplementError",
    "JitArguments",
    "add_tensor_init_args",
    "autotune_jit",
    "benchmark",
    "convert",
    "get_workspace_count",
    "tune",
    "validate_tensor_init_args",
]


def __dir__() -> list[str]:
    return __all__
