"""Shared memory of a block: parts of it by their size, all of it, and how much there is."""

from __future__ import annotations

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import Allocation, Origin, advance, checks_bounds
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.memory.pointers import Pointer
from triptych.cute.memory.shared_window import shared_start
from triptych.cute.tracing.device import device_function, device_trace, host_value, kernel_body
from triptych.cute.tracing.errors import PointerError, StaticTensorError
from triptych.ir.modules import SHARED_ALIGNMENT
from triptych.metastage.trace.trace import KernelBody, place
from triptych.metastage.values.scalars import Int32, Int64, Numeric, Uint8, numeric_class

__all__ = [
    "alloc_smem",
    "dynamic_smem_size",
    "get_dyn_smem",
    "get_dyn_smem_size",
]


@device_function
def alloc_smem(element_type: type[Numeric], size_in_elems: int, alignment: int | None = None) -> Pointer:
    """Room for elements in shared memory."""
    dtype = numeric_class(element_type)
    count = known_count("the number of elements", size_in_elems)
    return shared_elements(f"{count} * {dtype.__name__}", dtype, count, alignment or 1)


@device_function
def get_dyn_smem(element_type: type[Numeric], alignment: int | None = None) -> Pointer:
    """The start of the shared memory that the launch provides by `smem=`, for programs that divide it themselves."""
    kernel = kernel_body()
    kernel.divides_itself = True
    _check_one_way(kernel)
    start = shared_start(device_trace())
    origin = Origin(start, SHARED_ALIGNMENT, 0)
    pointer = Pointer(start, numeric_class(element_type), AddressSpace.smem, alignment, origin=origin)
    if not checks_bounds():
        return pointer
    return pointer.inside(Allocation(pointer.byte_address(), dynamic_smem_size().to(Int64)))


@device_function
def dynamic_smem_size() -> Int32:
    """How many bytes of shared memory the launch provides."""
    return Int32.of(host_value("bytes of shared memory", "i32", lambda size: size), device_trace().region)


@device_function
def get_dyn_smem_size() -> Int32:
    """The same as `dynamic_smem_size`."""
    return dynamic_smem_size()


def shared_elements(what: str, dtype: type[Numeric], count: int, alignment: int) -> Pointer:
    """Room for elements, at least as aligned as they are by themselves."""
    storage = storage_of(dtype)
    return shared_bytes(what, dtype, storage.size_in_bytes(count), max(alignment, storage.alignment))


def shared_bytes(
    what: str,
    dtype: type[Numeric],
    size: int,
    alignment: int,
    members: tuple[tuple[str, int, int], ...] = (),
) -> Pointer:
    """A further part of shared memory; `what` names it where there is too little, `members` what is inside it."""
    if size < 0 or alignment & (alignment - 1) or not 1 <= alignment <= SHARED_ALIGNMENT:
        raise PointerError(
            "there is no such part of shared memory",
            span=place(),
            found=f"{size} bytes at a multiple of {alignment}",
            expected=f"a size that is not negative, and an alignment that is a power of two up to {SHARED_ALIGNMENT}",
        )
    kernel = kernel_body()
    offset = kernel.share(what, size, alignment, place(), members)
    _check_one_way(kernel)
    start = shared_start(device_trace())
    address = advance(device_trace(), start, offset, Uint8, AddressSpace.smem)
    origin = Origin(start, SHARED_ALIGNMENT, offset)
    pointer = Pointer(address, dtype, AddressSpace.smem, alignment, origin=origin)
    return pointer.inside(Allocation(pointer.byte_address(), size)) if checks_bounds() else pointer


def _check_one_way(kernel: KernelBody) -> None:
    if kernel.divides_itself and kernel.shared:
        raise PointerError(
            "the kernel both divides its shared memory itself and lets it be allocated",
            span=place(),
            found="get_dyn_smem and an allocation, which would be the same bytes",
            expected="one of the two",
            instead="allocations for all parts",
        )


def known_count(what: str, count: object) -> int:
    """A size that decides how shared memory is divided."""
    if isinstance(count, int):
        return count
    raise StaticTensorError(
        f"{what} in shared memory is decided while tracing",
        span=place(),
        found=f"{count}, known only at run time",
        expected="a Python int",
        instead="the largest size that may be needed, as a Constexpr",
    )
