"""Copies that go on while the threads that asked for them compute."""

from __future__ import annotations

from triptych.cute.nvgpu.copy_operations import LoadCacheMode
from triptych.cute.nvgpu.cpasync.copy_operations import CopyG2SOp

__all__ = ["CopyG2SOp", "LoadCacheMode"]


def __dir__() -> list[str]:
    return __all__
