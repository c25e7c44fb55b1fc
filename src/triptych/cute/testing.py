"""Timing and tuning of compiled functions, and what test programs prepare their tensors with."""

from __future__ import annotations

from triptych.cute.runtime.element_conversion import convert
from triptych.cute.tracing.device import tracing
from triptych.cute.tuning.autotune import AutotunedFunction, autotune_jit, tune
from triptych.cute.tuning.program_arguments import CantImplementError, add_tensor_init_args, validate_tensor_init_args
from triptych.cute.tuning.timing import JitArguments, benchmark, get_workspace_count

__all__ = [
    "AutotunedFunction",
    "CantImplementError",
    "JitArguments",
    "add_tensor_init_args",
    "assert_",
    "autotune_jit",
    "benchmark",
    "convert",
    "get_workspace_count",
    "tune",
    "validate_tensor_init_args",
]


def assert_(cond: object, msg: str | None = None, *, loc: object = None, ip: object = None) -> None:
    """`assert cond, msg`, which is also made where Python's own assertions are left out (`python -O`)."""
    tracing().hooks.assert_(cond, None if msg is None else lambda: msg)  # noqa: PT009 - no test: a hook of this name


def __dir__() -> list[str]:
    return __all__
