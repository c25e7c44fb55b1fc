"""Accesses to memory that a thread must not make: outside a tensor, at an odd address, at null."""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from tests.integration.faults.fault import Fault
from tests.unit.cute.array_memory import address, aligned
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import TensorIndexError
from triptych.diagnostics.runtime_errors import MisalignedAccessError, NullPointerError, OutOfBoundsError

GUARD = -7.0
MARGIN = 64


def guarded(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """An array between guard words, and both together."""
    whole = aligned(count + 2 * MARGIN, np.float32)
    whole[:] = GUARD
    return whole[MARGIN : MARGIN + count], whole


def is_intact(whole: np.ndarray[Any, Any]) -> bool:
    """Whether the words around an array are what they were."""
    return bool((whole[:MARGIN] == GUARD).all() and (whole[-MARGIN:] == GUARD).all())


# kernels --------------------------------------------------------------------------------------------------------------
@tt.kernel
def store(a: cute.Tensor, step: tt.Int32, start: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    a[(block * 64 + thread) * step + start] = 1.0


@tt.kernel
def store_vector(a: cute.Tensor, step: tt.Int32, start: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    part = cute.domain_offset(((block * 64 + thread) * step + start,), a)
    cute.local_tile(part, (4,), (0,)).fill(1.0)


@tt.kernel
def store_through_pointer(a: cute.Tensor, step: tt.Int32, start: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (a.iterator + ((block * 64 + thread) * step + start)).store(1.0)


@tt.kernel
def store_atomically(a: cute.Tensor, step: tt.Int32, start: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    cute.arch.atomic_add(a.iterator + ((block * 64 + thread) * step + start), tt.Float32(1.0))


STORES = {store: 1, store_vector: 4, store_through_pointer: 1, store_atomically: 1}
"""Every way to write, and how many elements each writes."""


@tt.kernel
def load(a: cute.Tensor, out: cute.Tensor) -> None:
    x, y, z = cute.arch.thread_idx()
    i = x + 4 * (y + 4 * z)
    out[i] = a[i]


@tt.kernel
def use_shared(out: cute.Tensor, start: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64))
    shared[thread + start] = 1.0
    cute.arch.sync_threads()
    out[thread] = shared[63 - thread]


@tt.kernel
def divide_shared(out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    mine = cute.make_tensor(cute.arch.get_dyn_smem(tt.Float32), cute.make_layout(64))
    mine[thread] = 1.0
    out[thread] = mine[thread]


@tt.kernel
def use_registers(out: cute.Tensor, count: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    registers = cute.make_rmem_tensor((4,), tt.Float32)
    registers.fill(0.0)
    registers[thread % count] = 1.0
    out[thread] = registers[0]


@tt.kernel
def load_aligned(a: cute.Tensor, out: cute.Tensor, step: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    four = cute.make_tensor((a.iterator + thread * step).align(16), cute.make_layout(4))
    out[thread] = four.load().reduce(cute.ReductionOp.ADD, 0.0, 0)


@tt.kernel
def load_at(pointer: cute.Pointer, out: cute.Tensor, i: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    out[thread] = cute.make_tensor(pointer, cute.make_layout(64))[thread + i]


@tt.kernel
def load_element_at(pointer: cute.Pointer, out: cute.Tensor, i: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    out[thread] = (pointer + (thread + i)).load()


@tt.kernel
def store_in_first_column(a: cute.Tensor) -> None:
    row, _, _ = cute.arch.thread_idx()
    a[row, 0] = 1.0


@tt.kernel
def store_beyond(a: cute.Tensor) -> None:
    a[64] = 1.0


# hosts ----------------------------------------------------------------------------------------------------------------
@tt.jit
def launch(
    kernel: tt.Constexpr[Any], args: Any, grid: tt.Int32, block: tt.Constexpr[Any], smem: tt.Int32 | None = None
) -> None:
    kernel(*args).launch(grid=grid, block=block, smem=smem)


@tt.jit
def launch_at(kernel: tt.Constexpr[Any], where: tt.Int64, out: Any, i: tt.Int32) -> None:
    kernel(cute.make_ptr(tt.Float32, where, cute.AddressSpace.gmem), out, i).launch(grid=1, block=32)


def write_beyond_the_end() -> None:
    launch(store, (guarded(255)[0], 1, 0), 4, 64)


def write_before_the_start() -> None:
    launch(store, (guarded(256)[0], 1, -1), 4, 64)


def write_far_away() -> None:
    launch(store, (guarded(64)[0], 1 << 20, 0), 1, 64)


def write_a_vector_over_the_end() -> None:
    launch(store_vector, (guarded(254)[0], 4, 0), 1, 64)


def write_through_a_pointer() -> None:
    launch(store_through_pointer, (guarded(63)[0], 1, 0), 1, 64)


def write_atomically() -> None:
    launch(store_atomically, (guarded(63)[0], 1, 0), 1, 64)


def write_to_an_empty_tensor() -> None:
    launch(store, (np.zeros(0, np.float32), 1, 0), 1, 64)


def write_to_empty_rows() -> None:
    launch(store_in_first_column, (guarded(64)[0].reshape(8, 8)[:, :0],), 1, 8)


def read_beyond_the_end() -> None:
    launch(load, (guarded(63)[0], guarded(64)[0]), 1, (4, 4, 4))


def write_beyond_shared_memory() -> None:
    launch(use_shared, (guarded(64)[0], 1), 1, 64)


def write_beyond_the_shared_memory_of_the_launch() -> None:
    launch(divide_shared, (guarded(64)[0],), 1, 64, 255)


def write_beyond_registers() -> None:
    launch(use_registers, (guarded(64)[0], 5), 1, 64)


def read_a_vector_at_an_odd_address() -> None:
    launch(load_aligned, (guarded(256)[0], guarded(64)[0], 5), 1, 8)


def read_at_an_odd_address() -> None:
    launch_at(load_at, address(guarded(64)[0]) + 2, guarded(64)[0], 0)


def read_at_null() -> None:
    launch_at(load_at, 0, guarded(64)[0], 0)


def read_near_null() -> None:
    launch_at(load_at, 0, guarded(64)[0], 5)


def read_near_null_through_a_pointer() -> None:
    launch_at(load_element_at, 0, guarded(64)[0], 5)


def write_beyond_a_known_shape() -> None:
    launch(store_beyond, (from_dlpack(guarded(64)[0]),), 1, 32)


FIRST = (0, 0, 0)
FAULTS = [
    Fault(write_beyond_the_end, OutOfBoundsError, "a[(block *", (3, 0, 0), (63, 0, 0), always=False),
    Fault(write_before_the_start, OutOfBoundsError, "a[(block *", FIRST, FIRST, always=False),
    Fault(write_far_away, OutOfBoundsError, "a[(block *", FIRST, (1, 0, 0), always=False),
    Fault(write_a_vector_over_the_end, OutOfBoundsError, ".fill(1.0)", FIRST, (63, 0, 0), always=False),
    Fault(write_through_a_pointer, OutOfBoundsError, ".store(1.0)", FIRST, (63, 0, 0), always=False),
    Fault(write_atomically, OutOfBoundsError, "atomic_add", FIRST, (63, 0, 0), always=False),
    Fault(write_to_an_empty_tensor, OutOfBoundsError, "a[(block *", FIRST, FIRST, always=False),
    Fault(write_to_empty_rows, OutOfBoundsError, "a[row, 0] = 1.0", FIRST, FIRST, always=False),
    Fault(read_beyond_the_end, OutOfBoundsError, "out[i] = a[i]", FIRST, (3, 3, 3), always=False),
    Fault(write_beyond_shared_memory, OutOfBoundsError, "shared[thread + start]", FIRST, (63, 0, 0), always=False),
    Fault(
        write_beyond_the_shared_memory_of_the_launch,
        OutOfBoundsError,
        "mine[thread] = 1.0",
        FIRST,
        (63, 0, 0),
        always=False,
    ),
    Fault(write_beyond_registers, OutOfBoundsError, "registers[thread % count]", FIRST, (4, 0, 0), always=False),
    Fault(read_a_vector_at_an_odd_address, MisalignedAccessError, "four.load()", FIRST, (1, 0, 0), always=False),
    Fault(read_at_an_odd_address, MisalignedAccessError, "make_layout(64))[thread + i]", FIRST, FIRST, always=False),
    Fault(read_at_null, NullPointerError, "make_layout(64))[thread + i]", FIRST, FIRST, always=False),
    Fault(read_near_null, NullPointerError, "make_layout(64))[thread + i]", FIRST, FIRST, always=False),
    Fault(read_near_null_through_a_pointer, NullPointerError, ".load()", FIRST, FIRST, always=False),
    Fault(write_beyond_a_known_shape, TensorIndexError, "a[64] = 1.0"),
]
