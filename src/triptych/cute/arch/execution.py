"""Execution control: clocks and sleep, register counts of warpgroups (setmaxnreg), programmatic dependent launch.

Warpgroups give up registers that others then have more; where threads do not share registers, as on the CPU, there is
nothing to do. A kernel with a dependent launch may begin before the one in front of it in its stream has ended.
"""

from __future__ import annotations

from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace, emit_as
from triptych.kernel_ir.dialects.simt import (
    AWAIT_PREVIOUS_GRID,
    CLOCK,
    GLOBAL_TIMER,
    LAUNCH_DEPENDENTS,
    SET_REGISTERS,
    SLEEP,
)
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Uint32, Uint64

__all__ = [
    "clock",
    "clock64",
    "globaltimer",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "nanosleep",
    "setmaxregister_decrease",
    "setmaxregister_increase",
    "warpgroup_reg_alloc",
    "warpgroup_reg_dealloc",
]


@device_function
def clock() -> Uint32:
    """The low half of a counter of cycles."""
    return emit_as(Uint32, CLOCK)


@device_function
def clock64() -> Uint64:
    """A counter of cycles."""
    return emit_as(Uint64, CLOCK)


@device_function
def globaltimer() -> Uint64:
    """Nanoseconds since some moment, the same for all threads."""
    return emit_as(Uint64, GLOBAL_TIMER)


@device_function
def nanosleep(sleep_time: Integer) -> None:
    """Let others work for about that many nanoseconds."""
    device_trace().operation(SLEEP, (bits32(sleep_time),))


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


@device_function
def griddepcontrol_wait() -> None:
    """Wait until the kernel in front has ended; what it has written is then there to be read."""
    device_trace().operation(AWAIT_PREVIOUS_GRID)


@device_function
def griddepcontrol_launch_dependents() -> None:
    """Say that the kernel behind may begin, once every block has said so or ended."""
    device_trace().operation(LAUNCH_DEPENDENTS)
