"""Programmatic dependent launch: a kernel may begin before the one in front of it in its stream has ended.

The kernel behind is launched with `use_pdl=True`. Where launches do not overlap, as on the CPU, both functions have
nothing to do.
"""

from __future__ import annotations

from triptych.cute.arch.device import device_function, device_trace


@device_function
def griddepcontrol_wait() -> None:
    """Wait until the kernel in front has ended; what it has written is then there to be read."""
    _control("wait")


@device_function
def griddepcontrol_launch_dependents() -> None:
    """Say that the kernel behind may begin, once every block has said so or ended."""
    _control("launch_dependents")


def _control(action: str) -> None:
    trace = device_trace()
    kind = trace.builder.attribute(f"#nvvm<grid_dep_action {action}>")
    trace.operation("nvvm.griddepcontrol", attributes={"kind": kind})
