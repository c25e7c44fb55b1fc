"""How many registers the threads of a warpgroup may use: some give up what others then have more.

Where threads do not share registers, as on the CPU, both have nothing to do.
"""

from __future__ import annotations

from triptych.cute.tracing.device import device_function, device_trace
from triptych.kernel_ir.dialects.simt import SET_REGISTERS
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

_LEAST, _MOST, _STEP = 24, 256, 8


@device_function
def setmaxregister_increase(reg_count: int) -> None:
    """Wait until so many registers are free for each thread of the warpgroup, and take them."""
    _set("increase", reg_count)


@device_function
def setmaxregister_decrease(reg_count: int) -> None:
    """Keep so many registers for each thread of the warpgroup; others may take the rest."""
    _set("decrease", reg_count)


warpgroup_reg_alloc = setmaxregister_increase
"""The older name."""
warpgroup_reg_dealloc = setmaxregister_decrease
"""The older name."""


def _set(kind: str, count: object) -> None:
    if not isinstance(count, int) or not _LEAST <= count <= _MOST or count % _STEP:
        raise OperandTypeError(
            "no thread can have so many registers",
            span=place(),
            found=str(count) if isinstance(count, int) else type(count).__name__,
            expected=f"a multiple of {_STEP} from {_LEAST} to {_MOST} that is known now",
        )
    trace = device_trace()
    attributes = {"kind": trace.builder.string(kind), "count": trace.builder.integer("i32", count)}
    trace.operation(SET_REGISTERS, attributes=attributes)
