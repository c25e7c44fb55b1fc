"""`triptych.cute.testing` under the name that programs import, and the checks of operators."""

from __future__ import annotations

from triptych.cute.testing import (
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
from triptych.frameworks.checking import CheckedOperator, OperatorCheck, check_op

__all__ = [
    "AutotunedFunction",
    "CantImplementError",
    "CheckedOperator",
    "JitArguments",
    "OperatorCheck",
    "add_tensor_init_args",
    "autotune_jit",
    "benchmark",
    "check_op",
    "convert",
    "get_workspace_count",
    "tune",
    "validate_tensor_init_args",
]


def __dir__() -> list[str]:
    return __all__
