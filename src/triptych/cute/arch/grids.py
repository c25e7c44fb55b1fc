"""Programmatic dependent launch: a kernel may begin before the one in front of it in its stream has ended.

The kernel behind is launched with `use_pdl=True`. Where launches do not overlap, as on the CPU, both functions have
nothing to do.
"""

from __future__ import annotations

from triptych.cute.tracing.device import device_function, device_trace
from triptych.kernel_ir.dialects.simt import AWAIT_PREVIOUS_GRID, LAUNCH_DEPENDENTS


@device_function
def griddepcontrol_wait() -> None:
    """Wait until the kernel in front has ended; what it has written is then there to be read."""
    device_trace().operation(AWAIT_PREVIOUS_GRID)


@device_function
def griddepcontrol_launch_dependents() -> None:
    """Say that the kernel behind may begin, once every block has said so or ended."""
    device_trace().operation(LAUNCH_DEPENDENTS)
