"""Timing and tuning of compiled functions."""

from __future__ import annotations

from triptych.cute.timing import JitArguments, benchmark, get_workspace_count
from triptych.cute.tuning import AutotunedFunction, autotune_jit, tune

__all__ = ["AutotunedFunction", "JitArguments", "autotune_jit", "benchmark", "get_workspace_count", "tune"]


def __dir__() -> list[str]:
    return __all__
