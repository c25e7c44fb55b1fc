"""Elementwise kernels that do the same work for each thread as the peer's public ones: addition and ReLU."""

from __future__ import annotations

import triptych as tt
from triptych import cute

THREADS = 256
ROWS, LANES, VALUE_ROWS = 4, 32, 4
"""Of a tile by layout: threads below and beside each other, and the rows that each thread has of it."""
BITS = 128


# A thread has one vector of a matrix -----------------------------------------------------------------------------
@tt.kernel
def add_pieces(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    """The columns are not known, so the number of a thread is divided by them."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    width, _, _ = cute.arch.block_dim()
    piece = block * width + thread
    _, columns = a.shape[1]
    row, column = piece // columns, piece % columns
    here = (None, (row, column))
    c[here] = a[here].load() + b[here].load()


@tt.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    values = BITS // a.element_type.width
    pieces = [cute.zipped_divide(tensor, (1, values)) for tensor in (a, b, c)]
    blocks = cute.size(pieces[2], mode=[1]) // THREADS
    add_pieces(*pieces).launch(grid=blocks, block=THREADS)


# A thread has one element of a matrix ----------------------------------------------------------------------------
@tt.kernel
def relu_elements(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    width, _, _ = cute.arch.block_dim()
    element = block * width + thread
    rows, columns = x.shape
    if element < rows * columns:
        row, column = element // columns, element % columns
        y[row, column] = cute.math.max(x[row, column], 0.0)


@tt.jit
def relu(x: cute.Tensor, y: cute.Tensor) -> None:
    relu_elements(x, y).launch(grid=cute.ceil_div(cute.size(x), THREADS), block=THREADS)


# A layout gives a thread sixteen elements, each with a predicate of its own ---------------------------------------
@tt.kernel
def add_tiles(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    where: cute.Tensor,
    shape: cute.Shape,
    threads: cute.Layout,
    values: cute.Layout,
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = ((None, None), block)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), c.element_type)
    mine = cute.make_tiled_copy_tv(atom, threads, values).get_slice(thread)
    my_a, my_b, my_c, my_where = [mine.partition_S(tensor[tile]) for tensor in (a, b, c, where)]
    in_a, in_b, in_c = [cute.make_fragment_like(tensor) for tensor in (my_a, my_b, my_c)]
    inside = cute.make_rmem_tensor(my_where.shape, tt.Boolean)
    for i in tt.range_constexpr(cute.size(inside)):
        inside[i] = cute.elem_less(my_where[i], shape)
    cute.copy(atom, my_a, in_a, pred=inside)
    cute.copy(atom, my_b, in_b, pred=inside)
    in_c.store(in_a.load() + in_b.load())
    cute.copy(atom, in_c, my_c, pred=inside)


@tt.jit
def add_by_layout(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    threads = cute.make_ordered_layout((ROWS, LANES), order=(1, 0))
    values = cute.make_ordered_layout((VALUE_ROWS, BITS // a.element_type.width), order=(1, 0))
    tile, tv = cute.make_layout_tv(threads, values)
    tiled = [cute.zipped_divide(tensor, tile) for tensor in (a, b, c, cute.make_identity_tensor(c.shape))]
    blocks = cute.size(tiled[2], mode=[1])
    add_tiles(*tiled, c.shape, threads, values).launch(grid=blocks, block=cute.size(tv, mode=[0]))
