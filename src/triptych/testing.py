"""`triptych.compat.testing` under its shorter name."""

from __future__ import annotations

from triptych.compat.testing import (
    AutotunedFunction,
    JitArguments,
    autotune_jit,
    benchmark,
    get_workspace_count,
    tune,
)

__all__ = ["AutotunedFunction", "JitArguments", "autotune_jit", "benchmark", "get_workspace_count", "tune"]


def __dir__() -> list[str]:
    return __all__
