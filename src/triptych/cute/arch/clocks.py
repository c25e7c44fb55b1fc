"""Time on the device."""

from __future__ import annotations

from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace, emit_as
from triptych.kernel_ir.dialects.simt import CLOCK, GLOBAL_TIMER, SLEEP
from triptych.metastage.values.scalars import Uint32, Uint64


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
