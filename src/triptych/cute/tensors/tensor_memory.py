"""Tensor memory of a block: `TmemAllocator`, and how many columns tensors take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from triptych.cute.arch.barriers import sync_threads
from triptych.cute.arch.indices import block_idx_in_cluster, warp_idx
from triptych.cute.arch.mbarriers import mbarrier_arrive, mbarrier_init, mbarrier_init_fence, mbarrier_wait
from triptych.cute.arch.tensor_memory import (
    alloc_tmem,
    dealloc_tmem,
    relinquish_tmem_alloc_permit,
    retrieve_tmem_ptr,
)
from triptych.cute.arch.warp import elect_one
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import Integer, device_function, tracing
from triptych.kernel_ir.dialects.tensor_memory import COLUMNS, FEWEST_COLUMNS, LANE_SHIFT, elements_per_word
from triptych.layout import cosize
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric

_ALIGNMENT = 16


class AllocBarrier(Protocol):
    """Where threads wait until the address is written, such as a named barrier."""

    def arrive_and_wait(self) -> None: ...


class TmemAllocator:
    """Columns that one warp takes and gives back for all; every warp may call every method."""

    def __init__(
        self,
        alloc_result_dst_smem_ptr: Pointer,
        barrier_for_retrieve: AllocBarrier | None = None,
        allocator_warp_id: Integer = 0,
        is_two_cta: bool = False,
        two_cta_tmem_dealloc_mbar_ptr: Pointer | None = None,
        *,
        num_allocated_columns: Integer = 0,
        arch: object = None,
    ) -> None:
        """`arch` names the architecture; every one has as many columns."""
        self._holding = alloc_result_dst_smem_ptr
        self._barrier = barrier_for_retrieve
        self._warp = allocator_warp_id
        self._two = is_two_cta
        self._columns = num_allocated_columns
        self._dealloc_barrier = two_cta_tmem_dealloc_mbar_ptr if is_two_cta else None
        if self._dealloc_barrier is not None:
            self._by_one_warp(partial(_initialise, self._dealloc_barrier))

    def __repr__(self) -> str:
        return f"TmemAllocator({self._columns} columns at {self._holding})"

    @device_function
    def allocate(self, num_columns: Integer) -> None:
        """Take columns."""
        self._columns = num_columns
        self._by_one_warp(lambda: alloc_tmem(num_columns, self._holding, self._two))

    def wait_for_alloc(self) -> None:
        """Wait until the address is written."""
        sync_threads() if self._barrier is None else self._barrier.arrive_and_wait()

    def retrieve_ptr(self, dtype: type[Numeric]) -> Pointer:
        """The pointer to the columns."""
        return retrieve_tmem_ptr(dtype, _ALIGNMENT, self._holding)

    @device_function
    def relinquish_alloc_permit(self) -> None:
        """Take no more columns."""
        self._by_one_warp(lambda: relinquish_tmem_alloc_permit(self._two))

    @device_function
    def free(self, tmem_ptr: Pointer, num_columns: Integer = 0) -> None:
        """Give the columns back; the warps of a pair of CTAs wait for each other before."""
        columns = num_columns or self._columns
        if isinstance(columns, int) and columns == 0:
            raise OperandTypeError(
                "a TmemAllocator gives columns back that it has not taken",
                span=place(),
                found="`free` without `allocate`",
                expected="columns that this object has taken, or how many another one has",
                instead="`allocate(columns)` and `wait_for_alloc()` before they are used, or `free(ptr, columns)`",
            )
        self._by_one_warp(lambda: self._free(tmem_ptr, columns))

    def _free(self, place: Pointer, columns: Integer) -> None:
        barrier = self._dealloc_barrier
        if barrier is not None:
            with elect_one():
                mbarrier_arrive(barrier, block_idx_in_cluster() ^ 1)
            mbarrier_wait(barrier, 0)
        dealloc_tmem(place, columns, self._two)

    def _by_one_warp(self, act: Callable[[], None]) -> None:
        tracing().hooks.if_(warp_idx() == self._warp, act, lambda: None)


def _initialise(barrier: Pointer) -> None:
    with elect_one():
        mbarrier_init(barrier, 1)
    mbarrier_init_fence()


def find_tmem_tensor_col_offset(tensor: Tensor) -> int:
    """Columns from the first to the last that a tensor has elements in."""
    last: Any = cosize(tensor.layout)
    words = (last - 1) // elements_per_word(tensor.pointer.dtype.width)
    return int(words & ((1 << LANE_SHIFT) - 1)) + 1


def get_num_tmem_alloc_cols(
    tmem_tensors: Tensor | Sequence[Tensor], rounding: bool = True, *, arch: object = None
) -> int:
    """Columns that tensors take together: a number that can be allocated."""
    tensors = [tmem_tensors] if isinstance(tmem_tensors, Tensor) else list(tmem_tensors)
    total = sum(map(find_tmem_tensor_col_offset, tensors))
    if not rounding:
        return total
    return max(FEWEST_COLUMNS, min(COLUMNS, 1 << (total - 1).bit_length()))
