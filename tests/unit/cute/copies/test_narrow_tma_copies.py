"""TMA of elements of four bits, and of block scales that a tensor map counts two by two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.boxes import layout_atom
from triptych import cute
from triptych.cute.nvgpu import cpasync, warpgroup
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import TensorMapError
from triptych.kernel_ir.dialects.block_scales import shared_layout
from triptych.kernel_ir.dialects.tensor_maps import boxes
from triptych.layout import ComposedLayout, Layout, filter_zeros, size, tile_to_shape
from triptych.layout.layout import from_modes
from triptych.utils import blockscaled_layout

THREADS = 64
FOUR = tt.Float4E2M1FN


@tt.kernel
def load_tile(
    atom: cute.CopyAtom,
    tensor: cute.Tensor,
    out: cute.Tensor,
    layout: tt.Constexpr[Any],
    tile: tt.Constexpr[Any],
    at: Any,
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
    there = cute.group_modes(cute.local_tile(tensor, tile, at), 0, 2)
    here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), there)
    if thread < 32:
        cute.copy(atom, there, here, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    in_bytes = cute.make_tensor(cute.make_ptr(tt.Uint8, shared.iterator.toint(), cute.AddressSpace.smem), whole)
    for i in range(thread, whole, THREADS):
        out[i] = in_bytes[i]


@tt.jit
def load(
    source: cute.Tensor,
    target: cute.Tensor,
    at: Any,
    dtype: tt.Constexpr[Any],
    whole: tt.Constexpr[Any],
    layout: tt.Constexpr[Any],
    tile: tt.Constexpr[Any],
    internal: tt.Constexpr[Any],
) -> None:
    tensor = cute.make_tensor(cute.recast_ptr(source.iterator, dtype=dtype), whole)
    atom, coordinates = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), tensor, layout, tile, internal_type=internal
    )
    load_tile(atom, coordinates, target, layout, tile, at).launch(grid=1, block=THREADS)


def loaded(memory: Any, at: tuple[int, ...], count: int, *how: Any) -> Any:
    out = np.full(count, 0xCD, np.uint8)
    load(from_dlpack(memory.reshape(-1), assumed_align=16), out, tuple(map(tt.Int32, at)), *how)
    return out


@pytest.mark.cpu
@pytest.mark.parametrize(("kind", "swizzle"), [("K_INTER", 0), ("K_SW32", 1), ("K_SW128", 3)])
def test_elements_of_four_bits_are_loaded_as_their_bytes(kind: str, swizzle: int) -> None:
    rows, columns = 40, 1024
    wide = 16 << swizzle
    memory = np.random.default_rng(5).integers(0, 256, (rows, columns // 2), np.uint8)
    atoms = [warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind[kind], dtype) for dtype in (FOUR, tt.Int8)]
    layouts = [tile_to_shape(atom, (16, wide * count), (0, 1)) for atom, count in zip(atoms, (2, 1), strict=True)]
    wholes = [Layout((rows, columns), (columns, 1)), Layout((rows, columns // 2), (columns // 2, 1))]
    for at in ((0, 0), (1, 1), (2, 0)):  # the last one is half outside
        found = loaded(memory, at, 16 * wide, FOUR, wholes[0], layouts[0], (16, 2 * wide), None)
        expected = loaded(memory, at, 16 * wide, tt.Int8, wholes[1], layouts[1], (16, wide), None)
        np.testing.assert_array_equal(found, expected)
        assert found.any()


@pytest.mark.cpu
@pytest.mark.parametrize(("vector", "scales"), [(16, 4), (32, 2), (32, 1)])
def test_a_tile_of_scales(vector: int, scales: int) -> None:
    """Each scale of the tile is where the layout of shared memory says."""
    tile = (128, 8 * vector)
    whole = blockscaled_layout.tile_atom_to_shape_SF((256, 16 * vector, 2), vector)
    memory = np.random.default_rng(6).integers(0, 256, 256 * 16 * 2, np.uint8)
    rows, elements, instructions = shared_layout(*tile, vector, scales)
    layout = from_modes((rows, from_modes((elements, instructions))))
    for m, k, batch in np.ndindex(2, 2, 2):
        found = loaded(memory, (m, k, batch), 128 * 8, tt.Float8E4M3FN, whole, layout, tile, tt.Int16)
        for row, block in np.ndindex(128, 8):
            there: Any = whole((128 * m + row, (8 * k + block) * vector, batch))
            here: Any = layout((row, block * vector))
            assert found[here] == memory[there]


def test_scales_are_joined_into_one_dimension() -> None:
    whole = blockscaled_layout.tile_atom_to_shape_SF((256, 256, 2), 16)
    rows, elements, instructions = shared_layout(128, 128, 16, 4)
    layout = from_modes((rows, from_modes((elements, instructions))))
    made = boxes(whole.shape, whole.stride, layout, (128, 128), 8, 1, 16)
    assert made.copied[0] == 256
    assert (made.element_bytes, made.unit, made.bytes_moved) == (2, 2, size(filter_zeros(layout)))
    assert made.joined == (((0, 0, 1), 4), ((0, 0, 0), 16))
    assert len(made.dimensions) == 4


def test_elements_of_four_bits_have_no_other_type() -> None:
    memory = np.zeros(2048, np.uint8)
    layout = tile_to_shape(layout_atom(8, 0, True), (16, 32), (0, 1))
    with pytest.raises(TensorMapError, match="whole bytes"):
        loaded(memory, (0, 0), 512, FOUR, Layout((64, 64), (64, 1)), layout, (16, 32), tt.Int8)
