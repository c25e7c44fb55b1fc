"""Tensors whose layout is known while tracing: aligned vectors, thread and value layouts, copies, tiles with tails."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import MEMORY, SEEDS, Array, block_sizes, laid_out, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from tests.differential.kernel_suite.elementwise import number_of_thread
from triptych import cute
from triptych.cute.runtime import from_dlpack


def aligned(values: Array) -> Array:
    """The values at a multiple of 64 bytes."""
    raw = np.zeros(values.nbytes + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    inside = raw[begin : begin + values.nbytes].view(values.dtype).reshape(values.shape)
    inside[...] = values
    return inside


# vectors of the widest accesses ---------------------------------------------------------------------------------------
@tt.kernel
def scale_kernel(x: cute.Tensor, out: cute.Tensor, each: tt.Constexpr[int]) -> None:
    i = number_of_thread()
    source, target = cute.zipped_divide(x, (each,)), cute.zipped_divide(out, (each,))
    if i < cute.size(target, mode=[1]):
        registers = cute.make_fragment_like(source[None, (i,)])
        cute.autovec_copy(source[None, (i,)], registers)
        target[None, (i,)].store(registers.load() * 3)


@tt.jit
def scaled(x: cute.Tensor, out: cute.Tensor, block: tt.Int32, each: tt.Constexpr[int]) -> None:
    scale_kernel(x, out, each).launch(grid=cute.ceil_div(cute.size(out) // each, block), block=block)


@case(
    6,
    tiles=st.sampled_from([1, 37, 512]),
    each=st.sampled_from([1, 2, 4, 8, 16]),
    dtype=st.sampled_from(["int8", "int32", "float32", "float16", "float64"]),
    block=block_sizes(),
    dynamic=st.booleans(),
    seed=SEEDS,
)
def aligned_vectors(tiles: int, each: int, dtype: str, block: int, dynamic: bool, seed: int) -> None:
    x = aligned(whole(seed, tiles * each, dtype, 30))
    out = aligned(np.zeros_like(x))
    tensors = [from_dlpack(array, assumed_align=16) for array in (x, out)]
    if dynamic:
        tensors = [t.mark_compact_shape_dynamic(mode=0, divisibility=each) for t in tensors]
    scaled(*tensors, block, each)
    same(out, x * 3)


# threads and values ---------------------------------------------------------------------------------------------------
@tt.kernel
def partition_kernel(x: cute.Tensor, out: cute.Tensor, places: cute.Tensor, shape: cute.Shape, tv: cute.Layout) -> None:
    """Each thread the values that the layout gives it, those outside of the matrix left out."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    own, target, where = (cute.composition(t[(None, None), block], tv)[thread, None] for t in (x, out, places))
    registers = cute.make_fragment_like(target)
    registers.fill(0)
    for k in tt.range_constexpr(cute.size(registers)):
        if cute.elem_less(where[k], shape):
            registers[k] = own[k]
    doubled = registers.load() * 2 + 1
    for k in tt.range_constexpr(cute.size(registers)):
        if cute.elem_less(where[k], shape):
            target[k] = doubled[k]


@tt.jit
def partitioned(x: cute.Tensor, out: cute.Tensor, threads: tt.Constexpr[Any], values: tt.Constexpr[Any]) -> None:
    tile, tv = cute.make_layout_tv(threads, values)
    tiled = [cute.zipped_divide(t, tile) for t in (x, out, cute.make_identity_tensor(out.shape))]
    blocks = cute.size(tiled[1], mode=[1])
    partition_kernel(*tiled, out.shape, tv).launch(grid=blocks, block=cute.size(tv, mode=[0]))


PARTITIONS = [
    (cute.Layout((4, 32), (32, 1)), cute.Layout((4, 4), (4, 1))),
    (cute.Layout((8, 4), (1, 8)), cute.Layout((1, 4), (4, 1))),
    (cute.Layout((5, 7), (7, 1)), cute.Layout((2, 3), (1, 2))),
]


@case(
    6,
    shape=st.tuples(st.integers(1, 60), st.integers(1, 300)),
    partition=st.sampled_from(PARTITIONS),
    memory=MEMORY,
    seed=SEEDS,
)
def threads_and_values_with_tails(shape: Any, partition: Any, memory: str, seed: int) -> None:
    x = laid_out(whole(seed, shape, np.int32, 1000), memory)
    with output(shape, np.int32) as out:
        partitioned(x, out, *partition)
        same(out, x * 2 + 1)


@tt.kernel
def tile_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """A static tile through shared memory by partitions of other shapes for reading and writing."""
    thread, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    tile = cute.SmemAllocator().allocate_tensor(x.element_type, cute.make_layout((16, 24), stride=(25, 1)), 16)
    source = cute.local_tile(x, (16, 24), (by, bx))
    target = cute.local_tile(out, (16, 24), (by, bx))
    reading, writing = cute.make_layout((4, 12), stride=(12, 1)), cute.make_layout((16, 3))
    cute.basic_copy(cute.local_partition(source, reading, thread), cute.local_partition(tile, reading, thread))
    cute.arch.sync_threads()
    cute.basic_copy(cute.local_partition(tile, writing, thread), cute.local_partition(target, writing, thread))


@tt.jit
def tiles_copied(x: cute.Tensor, out: cute.Tensor) -> None:
    tile_kernel(x, out).launch(grid=(x.shape[1] // 24, x.shape[0] // 16, 1), block=48)


@case(
    6,
    tiles=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    memory=MEMORY,
    dtype=st.sampled_from(["float32", "int16"]),
    seed=SEEDS,
)
def tiles_copied_by_partitions(tiles: Any, memory: str, dtype: str, seed: int) -> None:
    shape = (16 * tiles[0], 24 * tiles[1])
    x = laid_out(whole(seed, shape, dtype, 1000), memory)
    with output(shape, dtype) as out:
        tiles_copied(x, out)
        same(out, x)
