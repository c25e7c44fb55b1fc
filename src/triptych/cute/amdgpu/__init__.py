"""AMD GPU instructions as objects that MMAs are made of: MFMA of CDNA (waves of 64 threads) and WMMA of RDNA."""

from __future__ import annotations

from triptych.cute.amdgpu.matrix_cores import MFMA, WMMA

__all__ = ["MFMA", "WMMA"]


def __dir__() -> list[str]:
    return __all__
