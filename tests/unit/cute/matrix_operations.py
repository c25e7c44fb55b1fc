"""Every matrix operation of the language, and its entry among the instructions."""

from __future__ import annotations

from typing import Any

import triptych as tt
from triptych.cute.nvgpu import warp

BYTES = (tt.Int8, tt.Uint8)
FP8 = (tt.Float8E4M3FN, tt.Float8E5M2)

WARP_OPERATIONS: dict[str, Any] = {
    op.instruction.name: op
    for op in (
        *(warp.MmaF16BF16Op(dtype, tt.Float32, (16, 8, k)) for dtype in (tt.Float16, tt.BFloat16) for k in (8, 16)),
        *(warp.MmaF16BF16Op(tt.Float16, tt.Float16, (16, 8, k)) for k in (8, 16)),
        *(warp.MmaTF32Op((16, 8, k)) for k in (4, 8)),
        *(warp.MmaI8Op(a, tt.Int32, (16, 8, k), b_dtype=b) for a in BYTES for b in BYTES for k in (16, 32)),
        *(warp.MmaFP8Op(a, tt.Float32, (16, 8, 32), b_dtype=b) for a in FP8 for b in FP8),
    )
}
