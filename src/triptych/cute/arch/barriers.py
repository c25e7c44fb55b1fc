"""Barriers of blocks, warps and clusters; blocks of a cluster also reach each other's shared memory."""

from __future__ import annotations

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, bits32, device_function, device_model, device_trace, lane_mask
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.simt import (
    BARRIER,
    BARRIER_ARRIVE,
    CLUSTER_ADDRESS,
    CLUSTER_ARRIVE,
    CLUSTER_WAIT,
    SYNC_WARP,
)
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

__all__ = [
    "barrier",
    "barrier_arrive",
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_wait",
    "map_dsmem_ptr",
    "mapa",
    "sync_threads",
    "sync_warp",
]

_BARRIERS = 16


@device_function
def sync_threads() -> None:
    """Wait until all threads of the block are here; what they wrote before is visible to all afterwards."""
    trace = device_trace()
    trace.operation("gpu.barrier", attributes={"scope": trace.builder.attribute("#gpu.barrier_scope<workgroup>")})


@device_function
def barrier(*, barrier_id: Integer | None = None, number_of_threads: Integer | None = None) -> None:
    """Wait at a named barrier until `number_of_threads` threads have come to it; without names, for the whole block."""
    if barrier_id is None and number_of_threads is None:
        sync_threads()
        return
    _check(barrier_id, number_of_threads)
    operands = [bits32(0 if barrier_id is None else barrier_id)]
    operands += [] if number_of_threads is None else [bits32(number_of_threads)]
    device_trace().operation(BARRIER, operands)


@device_function
def barrier_arrive(*, barrier_id: Integer | None = None, number_of_threads: Integer | None = None) -> None:
    """Count as having come to a named barrier, without waiting."""
    if number_of_threads is None:
        raise OperandTypeError(
            "barrier_arrive does not know when the barrier is complete",
            span=place(),
            expected="number_of_threads: those that arrive and those that wait",
        )
    _check(barrier_id, number_of_threads)
    operands = [bits32(0 if barrier_id is None else barrier_id), bits32(number_of_threads)]
    device_trace().operation(BARRIER_ARRIVE, operands)


@device_function
def sync_warp(mask: Integer | None = None) -> None:
    """Wait until the lanes of `mask`, or all of them, are here."""
    device_trace().operation(SYNC_WARP, (lane_mask(mask),))


def _check(barrier_id: Integer | None, number_of_threads: Integer | None) -> None:
    if isinstance(barrier_id, int) and not 0 <= barrier_id < _BARRIERS:
        raise OperandTypeError(
            "a block has 16 barriers", span=place(), found=f"barrier_id={barrier_id}", expected="0 to 15"
        )
    lanes = device_model().lanes
    if isinstance(number_of_threads, int) and (number_of_threads <= 0 or number_of_threads % lanes):
        raise OperandTypeError(
            "whole warps come to a barrier",
            span=place(),
            found=f"number_of_threads={number_of_threads}",
            expected=f"a multiple of {lanes}",
        )


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


@device_function
def mapa(ptr: object, cta_rank_in_cluster: Integer = 0) -> Value:
    """The same place in the shared memory of another block, as an MLIR pointer."""
    there: Value = map_dsmem_ptr(ptr, cta_rank_in_cluster).ir_value()
    return there
