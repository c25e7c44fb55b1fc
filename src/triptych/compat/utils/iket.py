"""In-kernel event tracing (`cutlass.cute.experimental.iket`): ranges that a program marks in its kernels.

They are recorded by NVIDIA's `run-iket` alone and do nothing without it, so here they check that they are in a kernel
and emit nothing: results and code are those of the program without them.
"""

from __future__ import annotations

from triptych.cute.tracing.device import device_function

__all__ = ["range_pop", "range_push"]


@device_function
def range_push(name: str, payload: object = None) -> None:
    """Begin a range of this thread, with a number that tells it from others of its name."""


@device_function
def range_pop() -> None:
    """End the newest range of this thread."""
