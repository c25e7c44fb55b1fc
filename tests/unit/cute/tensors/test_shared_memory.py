"""Shared memory: parts that do not overlap, aligned as asked, counted for the launch, and shared by a block only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.ir.traced import traced_ir
from tests.unit.cute.launched import run
from triptych import cute
from triptych.cute.tensors.shared_memory import SmemPartition
from triptych.cute.tracing.errors import DeviceOnlyError, PointerError, StaticTensorError
from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.metastage.trace.trace import KernelBody


@given(st.lists(st.tuples(st.integers(0, 5000), st.sampled_from([1, 2, 4, 16, 128, 1024])), max_size=12))
def test_parts_are_aligned_and_apart(requests: list[tuple[int, int]]) -> None:
    kernel = KernelBody("k", None, (1, 1, 1), (1, 1, 1))
    end = 0
    for size, alignment in requests:
        offset = kernel.share("", size, alignment, None)
        assert offset % alignment == 0
        assert end <= offset < end + alignment
        end = offset + size
    assert kernel.shared_bytes == end


@tt.kernel
def every_kind(out: cute.Pointer) -> None:
    allocator = cute.SmemAllocator()
    number = allocator.allocate(tt.Int32)
    section = allocator.allocate(64, byte_alignment=128)
    array = allocator.allocate_array(element_type=tt.Int64, num_elems=14)
    tensor = allocator.allocate_tensor(
        element_type=tt.Float32, layout=cute.make_layout((16, 2)), byte_alignment=32, swizzle=None
    )
    more = cute.SmemAllocator().allocate(8)
    first = cute.arch.alloc_smem(tt.Uint8, 4)
    row = cute.make_tensor(out, cute.make_layout(6))
    addresses = (number, section, array, tensor.iterator, more, first)
    for i, pointer in enumerate(addresses):
        row[i] = pointer.toint() - number.toint()


def test_allocations_follow_one_another() -> None:
    out = np.zeros(6, np.int64)
    run(every_kind, [out], block=1)
    assert list(out) == [0, 128, 192, 320, 448, 456]


@tt.kernel
def reversed_in_block(
    values: cute.Pointer, out: cute.Pointer, layout: tt.Constexpr[Any], swizzle: tt.Constexpr[Any]
) -> None:
    x, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, layout, 16, swizzle)
    guard = cute.SmemAllocator().allocate_array(tt.Float32, 1)
    cute.make_tensor(guard, cute.make_layout(1))[0] = -1.0
    cute.arch.sync_threads()
    shared[x] = cute.make_tensor(values + (b * 64 + x), cute.make_layout(1))[0]
    cute.arch.sync_threads()
    cute.make_tensor(out + (b * 64 + x), cute.make_layout(1))[0] = shared[63 - x]
    if x == 0:
        cute.make_tensor(out + (128 + b), cute.make_layout(1))[0] = cute.make_tensor(guard, cute.make_layout(1))[0]


LAYOUTS: list[tuple[Any, Any]] = [
    (cute.Layout(64, 1), None),
    (cute.Layout((8, 8), (9, 1)), None),
    (cute.ComposedLayout(cute.Swizzle(3, 0, 3), 0, cute.Layout((8, 8), (8, 1))), None),
    (cute.Layout((8, 8), (8, 1)), cute.Swizzle(2, 4, 3)),
    (cute.ComposedLayout(cute.Swizzle(2, 1, 3), 4, cute.Layout((8, 8), (8, 1))), None),
]


@pytest.mark.parametrize(("layout", "swizzle"), LAYOUTS, ids=str)
def test_block_exchanges_through_its_own_memory(layout: Any, swizzle: Any) -> None:
    values = np.random.default_rng(5).random(128, np.float32)
    out = np.zeros(130, np.float32)
    run(reversed_in_block, [values, out], layout, swizzle, grid=2, block=64)
    assert list(out[:64]) == list(values[:64][::-1])
    assert list(out[64:128]) == list(values[64:][::-1])
    assert list(out[128:]) == [-1, -1]


@tt.kernel
def divides_itself(out: cute.Pointer) -> None:
    x, _, _ = cute.arch.thread_idx()
    shared = cute.make_tensor(cute.arch.get_dyn_smem(tt.Int32, alignment=16), cute.make_layout(32))
    shared[x] = x
    cute.arch.sync_threads()
    cute.make_tensor(out, cute.make_layout(32))[x] = shared[31 - x]


def test_program_may_divide_its_memory_itself() -> None:
    @tt.jit
    def host(address: tt.Int64) -> None:
        out = cute.make_ptr(tt.Int32, address, cute.AddressSpace.gmem)
        divides_itself(out).launch(grid=1, block=32, smem=128)

    out = np.zeros(32, np.int32)
    host(out.ctypes.data)
    assert list(out) == list(range(31, -1, -1))


# refusals -------------------------------------------------------------------------------------------------------------
def launching(kernel: Any) -> Any:
    @tt.jit
    def host(n: tt.Int32) -> None:
        kernel(n).launch(grid=1, block=1)

    return host


def test_too_much_names_the_parts() -> None:
    @tt.kernel
    def greedy(n: tt.Int32) -> None:
        allocator = cute.SmemAllocator()
        allocator.allocate_tensor(tt.Float32, cute.make_layout((128, 256)))
        allocator.allocate_array(tt.Float16, 60_000)

    with pytest.raises(LaunchShapeError) as raised:
        traced_ir(launching(greedy), 1)
    text = str(raised.value)
    assert "251072 bytes" in text
    assert "at most 232448 bytes" in text
    assert "131072 bytes: a tensor (128,256):(1,128) of Float32" in text
    assert "120000 bytes: 60000 * Float16" in text


def test_size_must_be_known_while_tracing() -> None:
    @tt.kernel
    def dynamic(n: tt.Int32) -> None:
        cute.SmemAllocator().allocate_array(tt.Float32, n)  # type: ignore[arg-type]

    with pytest.raises(StaticTensorError, match="the number of elements in shared memory is decided while tracing"):
        traced_ir(launching(dynamic), 1)


@pytest.mark.parametrize(("size", "alignment"), [(-1, 1), (4, 3), (4, 2048), (4, 0)])
def test_impossible_part_is_refused(size: int, alignment: int) -> None:
    @tt.kernel
    def wrong(n: tt.Int32) -> None:
        cute.SmemAllocator().allocate(size, byte_alignment=alignment)

    with pytest.raises(PointerError, match="no such part of shared memory"):
        traced_ir(launching(wrong), 1)


def test_both_ways_at_once_are_refused() -> None:
    @tt.kernel
    def both(n: tt.Int32) -> None:
        cute.SmemAllocator().allocate(4)
        cute.arch.get_dyn_smem(tt.Int32)

    @tt.kernel
    def other_way_round(n: tt.Int32) -> None:
        cute.arch.get_dyn_smem(tt.Int32)
        cute.SmemAllocator().allocate(4)

    for kernel in (both, other_way_round):
        with pytest.raises(PointerError, match="both divides its shared memory itself and lets it be allocated"):
            traced_ir(launching(kernel), 1)


def test_host_has_no_shared_memory() -> None:
    @tt.jit
    def host() -> None:
        cute.SmemAllocator()

    with pytest.raises(DeviceOnlyError, match="SmemAllocator exists only inside a kernel"):
        host()


@tt.kernel
def two_ways(values: cute.Tensor, out: cute.Tensor, bound: tt.Int32, way: tt.Constexpr[str]) -> None:
    x, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    common = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64))
    common[x] = 1.0
    if (b == 0 and bound > 0) if way == "block" else x < 32:
        first = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64))
        first[x] = values[x]
        cute.arch.sync_warp()
        out[b * 64 + x] = first[x ^ 1] + common[x]
    else:
        second = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(128))
        second[x] = values[x]
        cute.arch.sync_warp()
        out[b * 64 + x] = second[x ^ 1] - common[x]
    last = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64))
    last[x] = 0.0


@pytest.mark.parametrize(
    ("way", "merged", "size"), [("block", True, 256), ("block", False, 320), ("thread", True, 320)]
)
def test_sides_of_which_a_block_takes_one_share_their_memory_if_asked(way: str, merged: bool, size: int) -> None:
    values, out = np.arange(64, dtype=np.float32), np.zeros(128, np.float32)

    @tt.jit
    def launched(values: cute.Tensor, out: cute.Tensor, bound: tt.Int32) -> None:
        two_ways(values, out, bound, way).launch(grid=2, block=64, smem_merge_branch_allocs=merged)

    launched(values, out, 1)
    swapped = values.reshape(-1, 2)[:, ::-1].ravel()
    goes_first = np.arange(128) < 64 if way == "block" else np.arange(128) % 64 < 32
    assert np.array_equal(out, np.tile(swapped, 2) + np.where(goes_first, 1.0, -1.0))
    assert f"dynamic_shared_memory_size %c{4 * size}_i32" in traced_ir(launched, values, out, 1)


@tt.jit
def in_partitions(out: cute.Pointer) -> None:
    partitions_kernel(out).launch(grid=1, block=1)


@tt.kernel
def partitions_kernel(out: cute.Pointer) -> None:
    allocator = cute.SmemAllocator()
    kept = allocator.allocate(8, 8, partition=SmemPartition.RESERVED)
    mine = allocator.allocate(8, byte_alignment=8, partition=SmemPartition.USER)
    cute.make_tensor(out, cute.make_layout(1))[0] = tt.Int64(mine.toint() - kept.toint())


def test_partitions_follow_one_another() -> None:
    out = np.zeros(1, np.int64)
    in_partitions(cute.runtime.make_ptr(tt.Int64, out.ctypes.data))
    assert out[0] == 8


def test_the_allocator_knows_how_much_there_is() -> None:
    assert cute.SmemAllocator.capacity_in_bytes("sm_90") == 232448
    with pytest.raises(ValueError, match="no architecture is called 'sm_00'"):
        cute.SmemAllocator.capacity_in_bytes("sm_00")
