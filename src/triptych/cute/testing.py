"""Timing and tuning of compiled functions."""

from __future__ import annotations

from triptych.cute.tuning.autotune import AutotunedFunction, autotune_jit, tune
from triptych.cute.tuning.timing import JitArguments, benchmark, get_workspace_count

__all__ = ["AutotunedFunction", "JitArguments", "autotune_jit", "benchmark", "get_workspace_count", "tune"]


def __dir__() -> list[str]:
    return __all__
