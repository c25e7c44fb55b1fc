"""c = a @ b in two steps: a tile of the result for each block, then a tile of the result for each thread.

1. *Tiled.* A block computes 32 x 32 elements of `c`, each thread one. The block walks along k in steps of 32: its
   threads bring a tile of `a` and one of `b` to shared memory, wait, and multiply what is there. So a number that is
   read from memory once is used 32 times.
2. *Register-tiled.* A block computes 64 x 64 elements, each thread 4 x 4 that it keeps in registers: eight numbers
   read from shared memory now make sixteen multiplications. Layouts do the arithmetic of indices: `local_tile` cuts
   the tiles of a block, `local_partition` deals the elements of a tile out to the threads.

Matrices need not be multiples of the tiles: outside of them tiles are filled with zeros, and nothing is stored.
"""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, workbench

# 1. tiled -------------------------------------------------------------------------------------------------------
TILE = 32


@tt.kernel
def gemm_tile(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    x, y, _ = cute.arch.thread_idx()
    block_x, block_y, _ = cute.arch.block_idx()
    smem = cute.SmemAllocator()
    tile_a = smem.allocate_tensor(tt.Float32, cute.make_layout((TILE, TILE), stride=(TILE, 1)))
    tile_b = smem.allocate_tensor(tt.Float32, cute.make_layout((TILE, TILE), stride=(TILE, 1)))
    row, column = block_y * TILE + y, block_x * TILE + x
    total = tt.Float32(0.0)
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[row, k + x] if cute.elem_less((row, k + x), a.shape) else 0.0
        tile_b[y, x] = b[k + y, column] if cute.elem_less((k + y, column), b.shape) else 0.0
        cute.arch.sync_threads()  # the tiles are complete
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cute.arch.sync_threads()  # nobody needs the tiles any more
    if cute.elem_less((row, column), c.shape):
        c[row, column] = total


@tt.jit
def tiled(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    rows, columns = cute.ceil_div(c.shape, (TILE, TILE))
    gemm_tile(a, b, c).launch(grid=(columns, rows), block=(TILE, TILE))


# 2. register-tiled ----------------------------------------------------------------------------------------------
M, N, K = 64, 64, 16
BY_ROWS = cute.make_layout((16, 16), stride=(16, 1))
"""Thread t is at row t // 16 and column t % 16 of a tile, and again 16 rows below, 16 columns beside ..."""
BY_COLUMNS = cute.make_layout((16, 16), stride=(1, 16))


def part(tensor: cute.Tensor, tile: cute.Shape, which: cute.Coord, threads: cute.Layout) -> cute.Tensor:
    """This thread's elements of a tile of a matrix; where `which` is None, of all tiles along that mode."""
    thread, _, _ = cute.arch.thread_idx()
    return cute.local_partition(cute.local_tile(tensor, tile, which), threads, thread)


def fill(tile: cute.Tensor, source: cute.Tensor, where: cute.Tensor, shape: cute.Shape) -> None:
    """Copy element by element; what lies outside of the matrix is zero."""
    for i in tt.range_constexpr(cute.size(tile)):
        tile[i] = source[i] if cute.elem_less(where[i], shape) else 0.0


@tt.kernel
def gemm_registers(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    """`a` is (m, k), `b` is (n, k), `c` is (m, n)."""
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    where_a, where_b, where_c = [cute.make_identity_tensor(tensor.shape) for tensor in (a, b, c)]
    smem = cute.SmemAllocator()
    tile_a = smem.allocate_tensor(tt.Float32, cute.make_layout((M, K)))
    tile_b = smem.allocate_tensor(tt.Float32, cute.make_layout((N, K)))

    # What this thread copies. Rows of `a` and columns of `b` are next to each other in memory, as are the threads.
    to_a = cute.local_partition(tile_a, BY_ROWS, thread)
    to_b = cute.local_partition(tile_b, BY_COLUMNS, thread)
    from_a, at_a = [part(tensor, (M, K), (row, None), BY_ROWS) for tensor in (a, where_a)]
    from_b, at_b = [part(tensor, (N, K), (column, None), BY_COLUMNS) for tensor in (b, where_b)]

    # What this thread multiplies: four rows of each tile, and the elements of `c` in which they meet.
    my_a = cute.local_partition(tile_a, BY_ROWS, thread, proj=(1, None))
    my_b = cute.local_partition(tile_b, BY_ROWS, thread, proj=(None, 1))
    my_c, at_c = [part(tensor, (M, N), (row, column), BY_ROWS) for tensor in (c, where_c)]
    sums = cute.make_rmem_tensor(my_c.shape, tt.Float32)
    sums.fill(0.0)
    for step in range(cute.ceil_div(a.shape[1], K)):
        fill(to_a, from_a[None, None, step], at_a[None, None, step], a.shape)
        fill(to_b, from_b[None, None, step], at_b[None, None, step], b.shape)
        cute.arch.sync_threads()
        for k in range(K):
            for i in tt.range_constexpr(M // 16):
                for j in tt.range_constexpr(N // 16):
                    sums[i, j] += my_a[i, k] * my_b[j, k]
        cute.arch.sync_threads()
    for i in tt.range_constexpr(cute.size(sums)):
        if cute.elem_less(at_c[i], c.shape):
            my_c[i] = sums[i]


@tt.jit
def register_tiled(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    rows, columns = cute.ceil_div(c.shape, (M, N))
    b_by_n = cute.select(b, mode=[1, 0])  # the same memory, seen as (n, k)
    gemm_registers(a, b_by_n, c).launch(grid=(columns, rows), block=cute.size(BY_ROWS))


WAYS = {"tiled": tiled, "register-tiled": register_tiled}


CASES = {
    **{
        f"{name}, {m} x {n} x {k}": {"name": name, "m": m, "n": n, "k": k}
        for name in WAYS
        for m, n, k in ((1, 1, 1), (64, 64, 16), (100, 70, 33), (65, 129, 200))
    },
    **{name: {"name": name, "m": 256, "n": 256, "k": 256, "bench": True} for name in WAYS},
}


def kernel_fn(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    WAYS[name](a, b, c)
    return c


def reference_fn(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    return a @ b


baseline_fn = reference_fn


def get_inputs(m: int = 64, n: int = 64, k: int = 64, name: str = next(iter(WAYS)), seed: int = 0) -> list[object]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((m, k), np.float32), random.standard_normal((k, n), np.float32), name]


def algorithmic_flops_bytes(a: np.ndarray, b: np.ndarray, name: str) -> tuple[int, int]:
    return 2 * a.size * b.shape[1], a.nbytes + b.nbytes + 4 * a.shape[0] * b.shape[1]


workbench.main(__name__)
