"""Byte permutation (`prmt`): four of the eight bytes of two registers, chosen at run time."""

from __future__ import annotations

from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace
from triptych.frontends.ptx.inline import inline_ptx
from triptych.metastage.values.scalars import Int32, Uint32


@device_function
def prmt(src: Integer, src_reg_shifted: Integer, prmt_indices: Integer) -> Uint32:
    """Byte i of the result is the one that digit i of `prmt_indices` names, counted over both registers.

    A digit of 8 or more gives the sign of that byte in all its bits.
    """
    region = device_trace().region
    operands = [Int32.of(bits32(each), region) for each in (src, src_reg_shifted, prmt_indices)]
    found: Uint32 = inline_ptx("prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", operands, Uint32, side_effects=False)
    return found
