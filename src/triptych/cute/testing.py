"""Timing and tuning of compiled functions."""

from __future__ import annotations

from triptych.cute.timing import JitArguments, benchmark
from triptych.cute.tuning import AutotunedFunction, autotune_jit, tune

__all__ = ["AutotunedFunction", "JitArguments", "autotune_jit", "benchmark", "tune"]
