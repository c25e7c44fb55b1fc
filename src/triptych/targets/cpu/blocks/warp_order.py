"""Warp schedule of a block: by number, or in the order of a seed that `check --schedules` gives."""

from __future__ import annotations

from triptych.ir.handles import Value
from triptych.sanitizer.checkers import warp_order
from triptych.targets.cpu.emit.lane_builder import LaneBuilder

_STEP = 0x9E3779B1
_SHIFT = 11


def turn(code: LaneBuilder, number: Value, warps: Value, moment: Value) -> Value:
    """The warp that has the turn of this number. Orders begin anywhere and go up or down, by `moment` and the seed."""
    seed = warp_order()
    if seed is None:
        return number
    mixed = code.value("arith.muli", (moment, code.constant(_signed(_STEP), "i32")), "i32")
    mixed = code.value("arith.addi", (mixed, code.constant(_signed(seed * _STEP), "i32")), "i32")
    high = code.value("arith.shrui", (mixed, code.constant(_SHIFT, "i32")), "i32")
    begin = code.value("arith.remui", (high, warps), "i32")
    up = code.value("arith.remui", (code.value("arith.addi", (begin, number), "i32"), warps), "i32")
    last = code.value("arith.subi", (warps, code.constant(1, "i32")), "i32")
    down = code.value("arith.subi", (last, up), "i32")
    odd = code.value("arith.andi", (mixed, code.constant(1 << (_SHIFT - 1), "i32")), "i32")
    return code.select(code.compare("eq", odd, code.constant(0, "i32")), up, down, "i32")


def _signed(number: int) -> int:
    """The same bits as a number of 32 bits with a sign."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)
