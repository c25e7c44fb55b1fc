"""Registers that every thread finds filled: which it is, in which block, of how many; and clocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.ptxsim.block_state import Dims
from triptych.ptxsim.operands import WARP

_EVERY = (1 << WARP) - 1


def thread_registers(
    numbers: Any, grid: Dims, block: Dims, index: Callable[[int], int], clock: Callable[[], int]
) -> dict[str, Any]:
    """By their names; those that change are functions. `index` gives a component of the block's place in the grid."""
    lanes = numbers % WARP
    names: dict[str, Any] = {"%laneid": lanes, "%warpid": numbers // WARP, "WARP_SZ": WARP}
    names |= dict.fromkeys(("%clock", "%clock64", "%globaltimer"), clock)
    threads = (numbers % block[0], numbers // block[0] % block[1], numbers // (block[0] * block[1]))
    for place, (axis, thread, extent, count) in enumerate(zip("xyz", threads, block, grid, strict=True)):
        names |= {f"%tid.{axis}": thread, f"%ntid.{axis}": extent, f"%nctaid.{axis}": count}
        names[f"%ctaid.{axis}"] = lambda place=place: index(place)
    names |= {"%lanemask_lt": (1 << lanes) - 1, "%lanemask_le": (2 << lanes) - 1, "%lanemask_eq": 1 << lanes}
    return names | {"%lanemask_gt": _EVERY - ((2 << lanes) - 1), "%lanemask_ge": _EVERY - ((1 << lanes) - 1)}
