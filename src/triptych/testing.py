"""`triptych.cute.testing` under its shorter name, which public programs import."""

from __future__ import annotations

from triptych.cute.testing import JitArguments, autotune_jit, benchmark, get_workspace_count, tune

__all__ = ["JitArguments", "autotune_jit", "benchmark", "get_workspace_count", "tune"]


def __dir__() -> list[str]:
    return __all__
