"""`triptych.cute.testing` under the name that public programs import."""

from __future__ import annotations

from triptych.cute.testing import (
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
