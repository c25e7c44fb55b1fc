"""Fences: memory operations before one are seen before those after it."""

from __future__ import annotations

from triptych.cute.arch.memory_order import ACQUIRE_RELEASE, scope_attributes
from triptych.cute.tracing.device import device_function, device_trace


@device_function
def fence_acq_rel_cta() -> None:
    """Order memory operations as the threads of the block see them."""
    _fence("cta")


@device_function
def fence_acq_rel_cluster() -> None:
    """Order memory operations as the threads of the cluster see them."""
    _fence("cluster")


@device_function
def fence_acq_rel_gpu() -> None:
    """Order memory operations as all threads of the device see them."""
    _fence("gpu")


@device_function
def fence_acq_rel_sys() -> None:
    """Order memory operations as everybody sees them, the host included."""
    _fence("sys")


def _fence(scope: str) -> None:
    trace = device_trace()
    ordering = trace.builder.integer("i64", ACQUIRE_RELEASE)
    trace.operation("llvm.fence", attributes={"ordering": ordering, **scope_attributes(trace, scope)})
