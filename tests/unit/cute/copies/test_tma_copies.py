"""Copies of boxes in kernels, on the CPU: shared memory byte by byte against the rule of the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.boxes import laid_down, layout_atom
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import BoxCopyError, CopyInstructionError, TensorMapError
from triptych.diagnostics.runtime_errors import LayoutRequirementError
from triptych.kernel_ir.dialects.tensor_maps import boxes
from triptych.layout import (
    AnyLayout,
    ComposedLayout,
    Layout,
    Swizzle,
    make_ordered_layout,
    product_each,
    size,
    tile_to_shape,
)

THREADS = 64


def parted(atom: Any, tensor: Any, shared: Any, tile: Any) -> Any:
    """The first tile of a tensor of coordinates, and shared memory, cut into boxes."""
    rank = len(tile)
    there = cute.local_tile(tensor, tile, (0,) * rank)
    here = cute.group_modes(shared, 0, rank)
    return cpasync.tma_partition(atom, 0, cute.make_layout(1), here, cute.group_modes(there, 0, rank))


@tt.kernel
def load_tile(
    atom: cute.CopyAtom, tensor: cute.Tensor, out: cute.Tensor, layout: tt.Constexpr[Any], first: Any
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    allocator = cute.SmemAllocator()
    barrier = allocator.allocate_array(tt.Int64, 1)
    plain = layout.outer if isinstance(layout, ComposedLayout) else layout
    swizzle: Any = layout.inner if isinstance(layout, ComposedLayout) else None
    shared = allocator.allocate_tensor(atom.value_type, plain, 1024, swizzle)
    whole = cute.size_in_bytes(atom.value_type, plain)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, whole)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    here, there = parted(atom, cute.domain_offset(first, tensor), shared, cute.product_each(plain.shape))
    if thread < 32:
        cute.copy(atom, there, here, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    raw = cute.make_ptr(tt.Uint8, shared.iterator.toint(), cute.AddressSpace.smem)
    in_bytes = cute.make_tensor(raw, whole)
    for i in range(thread, whole, THREADS):
        out[i] = in_bytes[i]


def loader(layout: AnyLayout) -> Callable[[Any, tuple[int, ...]], Any]:
    """What gives the bytes of shared memory after the load of the tile that begins at a coordinate of a tensor."""

    @tt.jit
    def load(source: cute.Tensor, target: cute.Tensor, first: tuple[tt.Int32, ...]) -> None:
        tile = cute.product_each(layout.shape)
        atom, coordinates = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, layout, tile)
        load_tile(atom, coordinates, target, layout, first).launch(grid=1, block=THREADS)

    def loaded(tensor: Any, first: tuple[int, ...]) -> Any:
        out = np.zeros(size(layout) * tensor.dtype.itemsize, np.uint8)
        load(from_dlpack(tensor, assumed_align=16), out, tuple(map(tt.Int32, first)))
        return out

    return loaded


def expected_after_load(tensor: np.ndarray[Any, Any], layout: AnyLayout, first: tuple[int, ...]) -> Any:
    """The same by the rule of the machine, for tiles that are one box."""
    item = tensor.dtype.itemsize
    strides = tuple(step // item for step in tensor.strides)
    tile: Any = product_each(layout.shape)
    made = boxes(tensor.shape, strides, layout, tile, item * 8)
    assert made.values == size(layout)
    memory = np.zeros(size(layout) * item, np.uint8)
    order = [path[0] for path in made.dimensions]
    laid_down(tensor.transpose(order), made, memory, 0, tuple(first[i] for i in order))
    return memory


@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
def test_a_box_is_loaded_through_its_swizzle_also_over_the_edge(swizzle: int) -> None:
    tensor = np.arange(1, 1 + 20 * 72, dtype=np.uint16).reshape(20, 72)
    wide = 8 << swizzle
    elements = tile_to_shape(layout_atom(16, swizzle, True), (16, wide), (0, 1))
    layout = ComposedLayout(Swizzle(swizzle, 4, 3), 0, elements.outer)
    load = loader(layout)
    for first in ((0, 0), (3, 8), (-2, -5), (10, 70), (19, -wide + 1)):
        found = load(tensor, first)
        assert np.array_equal(found, expected_after_load(tensor, layout, first)), first


@pytest.mark.parametrize(
    ("shape", "tile", "first"),
    [
        ((50,), (32,), (30,)),
        ((3, 5, 40), (2, 4, 16), (2, -1, 30)),
        ((2, 3, 2, 3, 24), (2, 2, 1, 2, 16), (1, 2, 0, -1, 9)),
    ],
)
def test_tma_boxes_of_every_rank(shape: tuple[int, ...], tile: tuple[int, ...], first: tuple[int, ...]) -> None:
    tensor = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    layout = make_ordered_layout(tile, tuple(range(len(tile)))[::-1])
    load = loader(layout)
    for begin in (first, (0,) * len(shape)):
        assert np.array_equal(load(tensor, begin), expected_after_load(tensor, layout, begin))


@tt.kernel
def store_tile(atom: cute.CopyAtom, tensor: cute.Tensor, layout: tt.Constexpr[Any], first: Any) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(atom.value_type, layout.outer, 1024, layout.inner)
    for i in range(thread, cute.size(shared), THREADS):
        shared[i] = atom.value_type(i % 50)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    here, there = parted(atom, cute.domain_offset(first, tensor), shared, cute.product_each(layout.shape))
    if thread < 32:
        cute.copy(atom, here, there)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


def stored(op: Any, tensor: Any, layout: AnyLayout, *begins: tuple[int, ...]) -> None:
    """The tensor changed by tiles from shared memory, whose element i is i % 50, by the tile's own numbers."""

    @tt.jit
    def store(target: cute.Tensor, first: tuple[tt.Int32, ...]) -> None:
        atom, coordinates = cpasync.make_tiled_tma_atom(op, target, layout, cute.product_each(layout.shape))
        store_tile(atom, coordinates, layout, first).launch(grid=1, block=THREADS)

    for first in begins:
        store(from_dlpack(tensor, assumed_align=16), tuple(map(tt.Int32, first)))


def expected_after_store(tensor: Any, layout: AnyLayout, join: Any, *begins: tuple[int, ...]) -> Any:
    expected = tensor.copy()
    extents: Any = product_each(layout.shape)
    rows, columns = extents
    for first in begins:
        for i in range(rows * columns):
            at = (first[0] + i % rows, first[1] + i // rows)
            if all(0 <= c < extent for c, extent in zip(at, tensor.shape, strict=True)):
                expected[at] = join(expected[at], tensor.dtype.type(i % 50))
    return expected


BEGINS = ((0, 0), (-3, 5), (10, 30), (15, -9))


@pytest.mark.parametrize("swizzle", [0, 2, 3])
def test_tma_boxes_are_stored_and_nothing_outside_the_tensor(swizzle: int) -> None:
    tensor = np.full((20, 40), 99, np.float32)
    atom = layout_atom(32, swizzle, True)
    layout = ComposedLayout(Swizzle(swizzle, 4, 3), 0, tile_to_shape(atom, (16, 4 << swizzle), (0, 1)).outer)
    expected = expected_after_store(tensor, layout, lambda old, new: new, *BEGINS)
    stored(cpasync.CopyBulkTensorTileS2GOp(), tensor, layout, *BEGINS)
    assert np.array_equal(tensor, expected)


def _incremented(old: Any, new: Any) -> Any:
    return 0 if old >= new else old + 1


@pytest.mark.parametrize(
    ("kind", "dtype", "join"),
    [
        (cute.ReductionOp.ADD, np.float32, np.add),
        (cute.ReductionOp.ADD, np.float16, np.add),
        (cute.ReductionOp.MIN, np.int32, np.minimum),
        (cute.ReductionOp.MAX, np.uint64, np.maximum),
        (cute.ReductionOp.INC, np.uint32, _incremented),
        (cute.ReductionOp.XOR, np.int64, np.bitwise_xor),
    ],
)
def test_tma_boxes_are_joined_with_what_is_there(kind: Any, dtype: Any, join: Any) -> None:
    tensor = (np.arange(20 * 48) % 37).astype(dtype).reshape(20, 48)
    bits = tensor.dtype.itemsize * 8
    atom = layout_atom(bits, 1, True)
    layout = ComposedLayout(Swizzle(1, 4, 3), 0, tile_to_shape(atom, (8, 256 // bits), (0, 1)).outer)
    expected = expected_after_store(tensor, layout, join, *BEGINS)
    stored(cpasync.CopyReduceBulkTensorTileS2GOp(kind), tensor, layout, *BEGINS)
    assert np.array_equal(tensor, expected)


# what is refused --------------------------------------------------------------------------------------------------
ROWS = Layout((8, 64), (64, 1))


def atom_of(op: Any, layout: Any = ROWS, stride: Any = (64, 1), dtype: Any = tt.Float16, align: int = 16) -> None:
    """Make an atom of tiles (8, 64) of a tensor."""

    @tt.jit
    def make(address: tt.Int64, number: tt.Int32) -> None:
        steps = tuple(number if step is None else step for step in stride)
        pointer = cute.make_ptr(dtype, address, cute.AddressSpace.gmem, assumed_align=align)
        cpasync.make_tiled_tma_atom(
            op, cute.make_tensor(pointer, cute.make_layout((64, 64), stride=steps)), layout, (8, 64)
        )

    make(0, 70)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stride": (1, 64)}, "not contiguous in global memory"),
        ({"stride": (68, 1)}, "multiples of 16 bytes"),
        ({"layout": Layout((8, 64), (72, 1))}, "gaps in shared memory"),
        ({"layout": ComposedLayout(Swizzle(3, 5, 3), 0, ROWS)}, "no TMA copy has this swizzle"),
    ],
)
def test_tensors_that_no_map_describes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TensorMapError, match=message):
        atom_of(cpasync.CopyBulkTensorTileG2SOp(), **given)


def test_a_stride_that_only_the_run_knows_is_checked_when_it_runs() -> None:
    with pytest.raises(LayoutRequirementError, match="multiples of 16 bytes"):
        atom_of(cpasync.CopyBulkTensorTileG2SOp(), stride=(None, 1))


def test_reductions_of_types_that_memory_does_not_join() -> None:
    with pytest.raises(CopyInstructionError, match="no TMA copy has INC of Float16"):
        atom_of(cpasync.CopyReduceBulkTensorTileS2GOp(cute.ReductionOp.INC))


@pytest.mark.parametrize(
    ("op", "align", "keywords", "message"),
    [
        (cpasync.CopyBulkTensorTileG2SOp(), 128, {}, "an mbarrier"),
        (cpasync.CopyBulkTensorTileG2SOp(), 128, {"mcast_mask": 3}, "into its own block"),
        (cpasync.CopyBulkTensorTileG2SMulticastOp(), 128, {}, "into several blocks"),
        (cpasync.CopyBulkTensorTileG2SOp(), 64, {}, "aligned to 128 bytes"),
    ],
)
def test_loads_that_lack_something(op: Any, align: int, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(BoxCopyError, match=message):
        load_nothing(op, align, keywords, with_barrier="mbarrier" not in message)


@pytest.mark.parametrize("mask", [0, 1, None])
def test_a_load_into_its_own_block_may_have_a_mask(mask: int | None) -> None:
    """Programs give one to the loads of both operands if either is for several blocks; None: by a number of a run."""
    load_nothing(cpasync.CopyBulkTensorTileG2SOp(), 128, {"mcast_mask": mask}, with_barrier=True)


def load_nothing(op: Any, align: int, keywords: dict[str, Any], *, with_barrier: bool) -> None:
    """Compile a load, and launch no block of it."""

    @tt.kernel
    def load(atom: cute.CopyAtom, tensor: cute.Tensor) -> None:
        allocator = cute.SmemAllocator()
        barrier = allocator.allocate_array(tt.Int64, 1)
        shared = allocator.allocate_tensor(tt.Float16, ROWS, align)
        here, there = parted(atom, tensor, shared, (8, 64))
        number: Any = cute.arch.block_idx()[0]
        given = {name: number if value is None else value for name, value in keywords.items()}
        cute.copy(atom, there, here, tma_bar_ptr=barrier if with_barrier else None, **given)

    @tt.jit
    def launch(address: tt.Int64) -> None:
        pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16)
        load(*cpasync.make_tiled_tma_atom(op, cute.make_tensor(pointer, ROWS), ROWS, (8, 64))).launch(grid=0, block=32)

    launch(0)
