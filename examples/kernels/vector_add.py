"""c = a + b, three times: by elements, by vectors, and by a layout of threads and values.

1. *By elements.* Thread i adds element i. Nothing to explain, and nothing to tune.
2. *By vectors.* Thread i adds four neighbours, loaded and stored whole. A GPU moves 16 bytes in one instruction.
3. *By threads and values.* A layout says which element of a tile is value v of thread t. The kernel no longer computes
   an index: another layout is another distribution of the work. Elements outside of the matrix are left out by
   *predication*: the same layout over a tensor of coordinates tells each value where it lies.
"""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, workbench

THREADS = 256
VALUES = 4


# 1. by elements -------------------------------------------------------------------------------------------------
@tt.kernel
def add_elements(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(c):
        c[i] = a[i] + b[i]


@tt.jit
def by_elements(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    add_elements(a, b, c).launch(grid=cute.ceil_div(cute.size(c), THREADS), block=THREADS)


# 2. by vectors --------------------------------------------------------------------------------------------------
@tt.kernel
def add_vectors(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: tt.Int32) -> None:
    """The tensors are divided: mode 0 runs inside of a piece of four elements, mode 1 over the pieces."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    piece = block * THREADS + thread
    first = piece * VALUES
    if first + VALUES <= n:
        c[None, piece] = a[None, piece].load() + b[None, piece].load()
    else:
        for k in tt.range_constexpr(VALUES):  # the last piece may be shorter
            if first + k < n:
                c[k, piece] = a[k, piece] + b[k, piece]


@tt.jit
def by_vectors(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    pieces = [cute.zipped_divide(tensor, (VALUES,)) for tensor in (a, b, c)]
    blocks = cute.ceil_div(cute.size(c), THREADS * VALUES)
    add_vectors(*pieces, cute.size(c)).launch(grid=blocks, block=THREADS)


# 3. by threads and values ---------------------------------------------------------------------------------------
@tt.kernel
def add_thread_values(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, where: cute.Tensor, shape: cute.Shape, tv: cute.Layout
) -> None:
    """`tv` maps (thread, value) to an element of the tile: fixing the thread leaves its values."""
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    tiles = [tensor[(None, None), (row, column)] for tensor in (a, b, c, where)]
    my_a, my_b, my_c, my_where = [cute.composition(tile, tv)[thread, None] for tile in tiles]
    for v in tt.range_constexpr(cute.size(my_c)):
        if cute.elem_less(my_where[v], shape):
            my_c[v] = my_a[v] + my_b[v]


@tt.jit
def by_threads_and_values(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    """4 x 64 threads, neighbours next to each other in a row; each has 4 rows of a 16 x 64 tile."""
    threads = cute.make_layout((4, 64), stride=(64, 1))
    values = cute.make_layout((4, 1))
    tile, tv = cute.make_layout_tv(threads, values)
    tiled = [cute.zipped_divide(tensor, tile) for tensor in (a, b, c, cute.make_identity_tensor(c.shape))]
    _, (rows, columns) = tiled[2].shape
    add_thread_values(*tiled, c.shape, tv).launch(grid=(columns, rows), block=cute.size(tv, mode=[0]))


WAYS = {"by elements": by_elements, "by vectors": by_vectors, "by threads and values": by_threads_and_values}
CASES = {
    **{f"{way}, {n}": {"way": way, "shape": (n,)} for way in list(WAYS)[:2] for n in (1, 3, 1024, 1025, 100_001)},
    **{
        f"{shape}": {"way": "by threads and values", "shape": shape}
        for shape in ((16, 64), (1, 1), (5, 200), (33, 257))
    },
    **{way: {"way": way, "shape": (1 << 20,), "bench": True} for way in list(WAYS)[:2]},
    "by threads and values": {"way": "by threads and values", "shape": (1024, 1024), "bench": True},
}


def kernel_fn(a: np.ndarray, b: np.ndarray, way: str) -> np.ndarray:
    c = np.empty_like(a)
    WAYS[way](a, b, c)
    return c


def reference_fn(a: np.ndarray, b: np.ndarray, way: str) -> np.ndarray:
    return a + b


baseline_fn = reference_fn


def get_inputs(shape: tuple[int, ...] = (1000,), way: str = "by elements", seed: int = 0) -> list[object]:
    a, b = np.random.default_rng(seed).standard_normal((2, *shape), np.float32)
    return [a, b, way]


def algorithmic_flops_bytes(a: np.ndarray, b: np.ndarray, way: str) -> tuple[int, int]:
    return a.size, 3 * a.nbytes


workbench.main(__name__)
