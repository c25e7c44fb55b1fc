"""Timing and tuning of compiled functions, and what test programs prepare their tensors with."""

from __future__ import annotations

from triptych.cute.runtime.element_conversion import convert
from triptych.cute.tuning.autotune import AutotunedFunction, autotune_jit, tune
from triptych.cute.tuning.program_arguments import CantImplementError, add_tensor_init_args, validate_tensor_init_args
from triptych.cute.tuning.timing import JitArguments, benchmark, get_workspace_count

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
