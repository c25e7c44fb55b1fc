"""A module that asks how many lanes a warp has while it is imported, which is before anybody knows."""

from __future__ import annotations

import triptych as tt
from triptych import cute

WARPS = 256 // cute.arch.WARP_SIZE


@tt.kernel
def count(out: cute.Tensor) -> None:
    out[0] = WARPS


@tt.jit
def run(out: cute.Tensor) -> None:
    count(out).launch(grid=1, block=64)
