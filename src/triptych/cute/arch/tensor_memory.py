"""Tensor memory: columns of a block, and waits for loads and stores of them. Whole warps execute all of these."""

from __future__ import annotations

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace
from triptych.cute.tracing.errors import PointerError
from triptych.ir.handles import Attribute
from triptych.kernel_ir.dialects.tensor_memory import COLUMNS, FEWEST_COLUMNS
from triptych.kernel_ir.dialects.tile import TMEM_ALLOC, TMEM_DEALLOC, TMEM_PERMIT, TMEM_WAIT
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Int32, Numeric, numeric_class

__all__ = [
    "alloc_tmem",
    "dealloc_tmem",
    "fence_view_async_tmem_load",
    "fence_view_async_tmem_store",
    "get_max_tmem_alloc_cols",
    "get_min_tmem_alloc_cols",
    "relinquish_tmem_alloc_permit",
    "retrieve_tmem_ptr",
]


def get_max_tmem_alloc_cols(arch: object = None) -> int:
    """Columns of a block."""
    return COLUMNS


def get_min_tmem_alloc_cols(arch: object = None) -> int:
    """Columns of the smallest allocation."""
    return FEWEST_COLUMNS


@device_function
def alloc_tmem(num_columns: Integer, smem_ptr_to_write_address: Pointer, is_two_cta: bool = False) -> None:
    """Take columns of tensor memory, by one warp; their address is written to a word of shared memory."""
    holding = smem_ptr_to_write_address
    if holding.memspace is not AddressSpace.smem or holding.dtype.width != 32:
        raise PointerError(
            "the address of tensor memory is written to a word of shared memory",
            span=place(),
            found=str(holding),
            expected="a pointer to Int32 in shared memory",
        )
    _require_columns(num_columns)
    device_trace().operation(TMEM_ALLOC, (holding.ir_value(), bits32(num_columns)), attributes=_ctas(is_two_cta))


@device_function
def dealloc_tmem(tmem_ptr: Pointer, num_columns: Integer, is_two_cta: bool = False) -> None:
    """Give columns back, by the warp that has taken them."""
    _require_columns(num_columns)
    device_trace().operation(TMEM_DEALLOC, (tmem_ptr.ir_value(), bits32(num_columns)), attributes=_ctas(is_two_cta))


@device_function
def relinquish_tmem_alloc_permit(is_two_cta: bool = False) -> None:
    """This block takes no more columns."""
    device_trace().operation(TMEM_PERMIT, attributes=_ctas(is_two_cta))


@device_function
def retrieve_tmem_ptr(element_type: type[Numeric], alignment: int, ptr_to_buffer_holding_addr: Pointer) -> Pointer:
    """The pointer to columns whose address an allocation has written."""
    address: Int32 = ptr_to_buffer_holding_addr.load()
    return Pointer(address.ir_value(), numeric_class(element_type), AddressSpace.tmem, alignment)


@device_function
def fence_view_async_tmem_load() -> None:
    """Wait for the loads of this warp: only after it may others write the columns again."""
    _wait("load")


@device_function
def fence_view_async_tmem_store() -> None:
    """Wait for the stores of this warp."""
    _wait("store")


def _wait(kind: str) -> None:
    trace = device_trace()
    trace.operation(TMEM_WAIT, attributes={"kind": trace.builder.string(kind)})


def _ctas(is_two_cta: bool) -> dict[str, Attribute]:
    return {"ctas": device_trace().builder.integer("i64", 2 if is_two_cta else 1)}


def _require_columns(count: Integer) -> None:
    if not isinstance(count, int):
        return
    if count & (count - 1) or not FEWEST_COLUMNS <= count <= COLUMNS:
        raise OperandTypeError(
            "no allocation of tensor memory has so many columns",
            span=place(),
            found=f"{count} columns",
            expected=f"a power of two from {FEWEST_COLUMNS} to {COLUMNS}",
        )
