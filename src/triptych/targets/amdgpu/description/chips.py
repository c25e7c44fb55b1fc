"""The chips that kernels can be compiled for: their waves, registers and memory, and what only some of them have.

Sources: AMD's instruction set manuals, LLVM's guide to its AMDGPU back end, and LLVM's own numbers, with which the
tests compare the occupancy that follows from these.
"""

from __future__ import annotations

from enum import StrEnum

from triptych.support.dataclass import dataclass


class Feature(StrEnum):
    """What some chips have and others lack."""

    MFMA = "matrix products of a wave of 64 (MFMA)"
    WMMA = "matrix products of a wave of 32 (WMMA)"
    FP8_FNUZ = "fp8 whose only NaN is the negative zero (FNUZ)"
    FP8_OCP = "fp8 as the Open Compute Project has it (OCP)"
    LDS_COPY = "copies from global memory into LDS of 4 bytes"
    LDS_COPY_16 = "copies from global memory into LDS of 16 bytes"
    ROW_XMASK = "lanes exchanged by a mask within rows of 16 (row_xmask)"
    PERMLANE_X16 = "rows of 16 lanes exchanged (permlanex16)"
    PERMLANE_SWAP = "halves of a wave exchanged (permlane32_swap)"
    COUNTED_LOADS = "waits that count loads alone (s_wait_loadcnt)"
    COMBINED_WAIT = "one wait for all kinds of accesses (s_waitcnt)"


@dataclass(frozen=True, slots=True)
class Chip:
    """One processor by LLVM's name for it."""

    name: str
    product: str
    lanes: int
    """Threads of a wave."""
    registers: int
    """Vector registers of a SIMD, of one lane each."""
    granule: int
    """They are given to waves in so many at once."""
    waves: int
    """The most that a SIMD holds."""
    shared: int
    """Bytes of LDS that a block can have."""
    shared_file: int
    """Bytes of LDS that the blocks of one compute unit share (of one work-group processor on RDNA)."""
    features: frozenset[Feature]
    scalar_limits: tuple[tuple[int, int], ...] = ()
    """How many waves fit while a wave has at most so many scalar registers; no entry where they never limit."""

    @property
    def vector_limit(self) -> int:
        """The most vector registers of a thread: accumulation registers (AGPRs) are of the same file."""
        return 512 if Feature.MFMA in self.features else 256


SIMDS = 4
"""Of a compute unit, and of a work-group processor on RDNA."""
THREADS = 1024
"""The most of a block."""
_KIB = 1024
_GFX9_SCALARS = ((100, 8), (1 << 10, 7))
_CDNA = frozenset({Feature.MFMA, Feature.LDS_COPY, Feature.COMBINED_WAIT})
_RDNA = frozenset({Feature.WMMA, Feature.ROW_XMASK, Feature.PERMLANE_X16})


def _cdna(name: str, product: str, shared: int, *further: Feature) -> Chip:
    features = _CDNA | set(further)
    return Chip(name, product, 64, 512, 8, 8, shared * _KIB, shared * _KIB, features, _GFX9_SCALARS)


def _rdna(name: str, product: str, *further: Feature) -> Chip:
    return Chip(name, product, 32, 1536, 24, 16, 64 * _KIB, 128 * _KIB, _RDNA | set(further))


CHIPS = {
    chip.name: chip
    for chip in (
        _cdna("gfx90a", "Instinct MI200", 64),
        _cdna("gfx942", "Instinct MI300", 64, Feature.FP8_FNUZ),
        _cdna("gfx950", "Instinct MI350", 160, Feature.FP8_OCP, Feature.LDS_COPY_16, Feature.PERMLANE_SWAP),
        _rdna("gfx1100", "Radeon RX 7900 (RDNA 3)", Feature.COMBINED_WAIT),
        _rdna("gfx1201", "Radeon RX 9070 (RDNA 4)", Feature.FP8_OCP, Feature.COUNTED_LOADS),
    )
}
