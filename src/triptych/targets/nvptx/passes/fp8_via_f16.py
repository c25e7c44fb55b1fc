"""Products of fp8 on GPUs whose warps multiply no fp8: two products of f16 for each.

GPUs of the generations 90 to 103 have other instructions for fp8. For the one of a warp the assembler writes the same
conversions and products, but each product by itself and an addition for every number of it afterwards: half as many
instructions again, and registers that a large tile does not have. Written here, the matrix units add.
"""

from __future__ import annotations

from triptych.kernel_ir.dialects.warp_mma import WARP_MMAS, WarpMma
from triptych.targets.nvptx.description.architectures import Architecture

_FP8 = frozenset({"e4m3", "e5m2"})
_WITHOUT_FP8 = range(90, 120)
_OF_HALVES = WARP_MMAS["m16n8k16.f32.f16.f16.f32"]


def written_as(instruction: WarpMma, architecture: Architecture) -> WarpMma:
    """The instruction that code for the architecture has for a matrix instruction."""
    if instruction.a in _FP8 and architecture.generation in _WITHOUT_FP8:
        return _OF_HALVES
    return instruction


def halves_of_registers(count: int) -> list[list[tuple[int, int]]]:
    """For each of the two products, the registers of fp8 that its operands are made of, and which half (0: the lower).

    Registers go along rows first, then along k, with four neighbours along k in each. Two neighbours become an operand
    of f16. Their places along k are not those that they had, but the same for both factors, and a sum has no order.
    """
    together = count // 2
    return [[(i, half) for half in range(2) for i in range(start, start + together)] for start in (0, together)]
