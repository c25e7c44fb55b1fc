"""`cuda.bindings.nvrtc` without NVIDIA's compiler: it has a version, and compiles nothing."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from triptych.compat.cuda_bindings.driver import VERSION
from triptych.compat.cuda_bindings.handles import refusing

__all__ = ["nvrtcResult", "nvrtcVersion"]


class nvrtcResult(IntEnum):
    """What a call says of itself."""

    NVRTC_SUCCESS = 0


def __getattr__(name: str) -> Any:
    return refusing("cuda.bindings.nvrtc", name)


def nvrtcVersion() -> tuple[nvrtcResult, int, int]:
    """The version that is stood in for."""
    return nvrtcResult.NVRTC_SUCCESS, VERSION // 1000, VERSION % 1000 // 10
