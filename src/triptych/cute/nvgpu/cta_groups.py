"""CTA groups: whether one CTA issues products or a pair of them, and commits, which say when they are complete."""

from __future__ import annotations

from enum import Enum

from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace
from triptych.kernel_ir.dialects.tile import UMMA_COMMIT


class CtaGroup(Enum):
    """How many CTAs issue an instruction together."""

    ONE = 1
    TWO = 2


@device_function
def commit(mbar_ptr: Pointer, mask: Integer | None = None, cta_group: CtaGroup = CtaGroup.ONE) -> None:
    """One thread of the warp arrives on an mbarrier when the products that it has begun are complete: on that of this
    block, or of every block of a mask."""
    trace = device_trace()
    attributes = {
        "ctas": trace.builder.integer("i64", cta_group.value),
        "multicast": trace.builder.attribute("false" if mask is None else "true"),
    }
    blocks = bits32(0 if mask is None else mask)
    trace.operation(UMMA_COMMIT, (mbar_ptr.ir_value(), blocks), attributes=attributes)
