"""Clusters: the blocks of one wait for each other, and reach each other's shared memory."""

from __future__ import annotations

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace
from triptych.kernel_ir.dialects.simt import CLUSTER_ADDRESS, CLUSTER_ARRIVE, CLUSTER_WAIT
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place


@device_function
def cluster_arrive(*, aligned: bool | None = None) -> None:
    """Say that this thread has come, and show the others what it has written so far; `cluster_wait` follows."""
    _arrive("release")


@device_function
def cluster_arrive_relaxed(*, aligned: bool | None = None) -> None:
    """Say that this thread has come; what it has written need not be seen by others."""
    _arrive("relaxed")


def _arrive(order: str) -> None:
    trace = device_trace()
    trace.operation(CLUSTER_ARRIVE, attributes={"order": trace.builder.string(order)})


@device_function
def cluster_wait(*, aligned: bool | None = None) -> None:
    """Wait until all threads of the cluster have come."""
    device_trace().operation(CLUSTER_WAIT)


@device_function
def map_dsmem_ptr(smem_ptr: object, peer_cta_rank_in_cluster: Integer) -> Pointer:
    """The same place in the shared memory of another block of the cluster."""
    if not isinstance(smem_ptr, Pointer) or smem_ptr.memspace is not AddressSpace.smem:
        raise OperandTypeError(
            "only shared memory has the same place in other blocks",
            span=place(),
            found=str(smem_ptr) if isinstance(smem_ptr, Pointer) else type(smem_ptr).__name__,
            expected="a pointer into shared memory",
        )
    operands = (smem_ptr.ir_value(), bits32(peer_cta_rank_in_cluster))
    there = device_trace().value(CLUSTER_ADDRESS, operands, AddressSpace.dsmem.pointer_type)
    return Pointer(there, smem_ptr.dtype, AddressSpace.dsmem, smem_ptr.alignment, swizzle=smem_ptr.swizzle)
