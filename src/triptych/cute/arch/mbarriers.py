"""Mbarriers: eight bytes of shared memory that count arrivals, and bytes under way, of one phase after the other.

A phase is over when all arrivals have come and all bytes that were expected. Who waits names the parity of a phase: 0
for the first, then 1, then 0 again; the phase before the first counts as over. Every thread that comes to one of these
functions executes it, so what one thread does stands under `elect_one`.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.arch.atomics import is_address
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace, emit_as, kernel_body
from triptych.ir.handles import Attribute, Value
from triptych.ir.types import SHARED_SPACE, memory_space
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.kernel_attributes import OFFSET, STORAGE
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.binding_time import truth
from triptych.metastage.values.scalars import Boolean
from triptych.support.wording import with_article

__all__ = [
    "cp_async_mbarrier_arrive_noinc",
    "mbarrier_arrive",
    "mbarrier_arrive_and_expect_tx",
    "mbarrier_conditional_try_wait",
    "mbarrier_expect_tx",
    "mbarrier_init",
    "mbarrier_init_fence",
    "mbarrier_try_wait",
    "mbarrier_wait",
]

MOST_ARRIVALS = MOST_BYTES = (1 << 20) - 1
"""What a phase of a barrier can count."""
_BYTES = 8


@device_function
def mbarrier_init(mbar_ptr: Pointer | Value, cnt: Integer) -> None:
    """Make a barrier of the eight bytes; each of its phases counts `cnt` arrivals.

    Others may use it after `mbarrier_init_fence` and a barrier of the block, or of the cluster.
    """
    _check("an mbarrier counts 1 to 1048575 arrivals", cnt, 1, MOST_ARRIVALS)
    operands = (barrier_address(mbar_ptr), bits32(cnt))
    device_trace().operation(simt.MBARRIER_INIT, operands, attributes=_place_in_memory(mbar_ptr))


@device_function
def mbarrier_init_fence() -> None:
    """What this thread has initialised is initialised for the others after their next barrier."""
    device_trace().operation(simt.MBARRIER_FENCE)


@device_function
def mbarrier_arrive(
    mbar_ptr: Pointer | Value, peer_cta_rank_in_cluster: Integer | None = None, arrive_count: Integer = 1
) -> None:
    """Arrive; with a rank at the same barrier of that block of the cluster."""
    _check("arrivals are 1 to 1048575", arrive_count, 1, MOST_ARRIVALS)
    _emit(simt.MBARRIER_ARRIVE, mbar_ptr, arrive_count, peer_cta_rank_in_cluster)


@device_function
def mbarrier_expect_tx(
    mbar_ptr: Pointer | Value, bytes: Integer, peer_cta_rank_in_cluster: Integer | None = None
) -> None:
    """The phase is not over before that many further bytes have come."""
    _check_bytes(bytes)
    _emit(simt.MBARRIER_EXPECT, mbar_ptr, bytes, peer_cta_rank_in_cluster)


@device_function
def mbarrier_arrive_and_expect_tx(
    mbar_ptr: Pointer | Value, bytes: Integer, peer_cta_rank_in_cluster: Integer | None = None
) -> None:
    """Expect bytes, then arrive, as one operation."""
    _check_bytes(bytes)
    _emit(simt.MBARRIER_ARRIVE_EXPECT, mbar_ptr, bytes, peer_cta_rank_in_cluster)


@device_function
def mbarrier_wait(mbar_ptr: Pointer | Value, phase: Integer) -> None:
    """Wait until the phase of that parity is over; what others wrote before they arrived is visible then."""
    device_trace().operation(simt.MBARRIER_WAIT, _awaited(mbar_ptr, phase))


@device_function
def mbarrier_try_wait(mbar_ptr: Pointer | Value, phase: Integer) -> Boolean:
    """Whether the phase of that parity is over; if so, as after `mbarrier_wait`."""
    return emit_as(Boolean, simt.MBARRIER_TEST, _awaited(mbar_ptr, phase))


@device_function
def mbarrier_conditional_try_wait(cond: Integer, mbar_ptr: Pointer | Value, phase: Integer) -> Boolean:
    """`mbarrier_try_wait` where `cond` holds, and true where it does not."""
    trace = device_trace()
    address, parity = _awaited(mbar_ptr, phase)
    kind = trace.builder.type(Boolean.info.mlir)
    branch = trace.operation("scf.if", (truth(cond).ir_value(),), (kind,), regions=2)
    with trace.inside(trace.builder.append_block(branch, 0, (), trace.location()), "branch"):
        asked = trace.value(simt.MBARRIER_TEST, (address, parity), Boolean.info.mlir)
        trace.operation("scf.yield", (asked,))
    with trace.inside(trace.builder.append_block(branch, 1, (), trace.location()), "branch"):
        trace.operation("scf.yield", (Boolean(True).ir_value(),))
    return Boolean.of(branch.results[0], trace.region)


@device_function
def cp_async_mbarrier_arrive_noinc(mbar_ptr: Pointer | Value) -> None:
    """Arrive when all asynchronous copies that this thread has started have landed; the barrier counts this arrival."""
    device_trace().operation(simt.ASYNC_ARRIVE, (barrier_address(mbar_ptr),))


def barrier_address(mbar_ptr: object) -> Any:
    """The address of a barrier, which lies in shared memory at a multiple of eight bytes."""
    if isinstance(mbar_ptr, Pointer):
        if mbar_ptr.memspace is AddressSpace.smem and (mbar_ptr.alignment % _BYTES == 0 or mbar_ptr.dtype.width < 64):
            return mbar_ptr.ir_value()
        found = f"a pointer to {mbar_ptr.dtype.__name__} in {mbar_ptr.memspace.name}, aligned to {mbar_ptr.alignment}"
    elif is_address(mbar_ptr) and memory_space(mbar_ptr.type) == SHARED_SPACE:
        return mbar_ptr
    else:
        found = with_article(type(mbar_ptr).__name__)
    raise OperandTypeError(
        "an mbarrier is eight bytes of shared memory",
        span=place(),
        found=found,
        expected="a pointer to Int64 in shared memory, at a multiple of 8 bytes",
        instead="`cute.arch.alloc_smem(cutlass.Int64, n)`, or a field `cute.struct.MemRange[cutlass.Int64, n]`",
    )


def _place_in_memory(mbar_ptr: object) -> dict[str, Attribute]:
    """Where a barrier is and what the program calls it, for whoever tells that nobody comes to it."""
    distance = mbar_ptr.origin.distance if isinstance(mbar_ptr, Pointer) and mbar_ptr.origin is not None else None
    if not isinstance(distance, int):
        return {}
    name, builder = kernel_body().shared_name(distance, _BYTES), device_trace().builder
    return {} if name is None else {OFFSET: builder.integer("i32", distance), STORAGE: builder.string(name)}


def _emit(name: str, mbar_ptr: object, amount: Integer, rank: Integer | None) -> None:
    others = [] if rank is None else [bits32(rank)]
    device_trace().operation(name, (barrier_address(mbar_ptr), bits32(amount), *others))


def _awaited(mbar_ptr: object, phase: Integer) -> tuple[Any, Any]:
    _check("a phase is named by its parity", phase, 0, 1)
    return barrier_address(mbar_ptr), bits32(phase)


def _check_bytes(amount: Integer) -> None:
    _check("an mbarrier counts at most 1048575 bytes", amount, 0, MOST_BYTES)


def _check(title: str, value: Integer, low: int, high: int) -> None:
    if isinstance(value, int) and not low <= value <= high:
        raise OperandTypeError(title, span=place(), found=str(value), expected=f"{low} to {high}")
