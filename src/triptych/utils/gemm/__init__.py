"""GEMM kernels' parts, by architecture."""

from __future__ import annotations

from triptych.utils.gemm import sm100

__all__ = ["sm100"]
