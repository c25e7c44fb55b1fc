"""Matrix products through shared memory, with barriers in the loop: one number per thread, or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triptych as tt
from triptych import cute

TILE = 32


@dataclass(frozen=True, slots=True)
class Shape:
    """Threads of a block, numbers of a thread, depth of a tile; whether the tile of the left matrix is transposed."""

    width: int
    height: int
    rows: int
    columns: int
    depth: int
    transposed: bool = False


SQUARE = Shape(16, 16, 4, 4, 16)
"""The shape that is usual on GPUs."""
TRANSPOSED = Shape(16, 16, 4, 4, 16, transposed=True)
"""As there for wide loads; here its stores are scattered."""
WIDE = Shape(32, 16, 4, 2, 32)
"""The best of 18 shapes for us on one machine: a warp is one row of threads."""


@tt.kernel
def multiply_tiles(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: tt.Int32) -> None:
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    memory = cute.SmemAllocator()
    tile_a = memory.allocate_tensor(tt.Float32, cute.make_layout((TILE, TILE), stride=(TILE, 1)), 16)
    tile_b = memory.allocate_tensor(tt.Float32, cute.make_layout((TILE, TILE), stride=(TILE, 1)), 16)
    row = by * TILE + ty
    column = bx * TILE + tx
    total = tt.Float32(0.0)
    for start in range(0, n, TILE):
        tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = b[start + ty, column]
        cute.arch.sync_threads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cute.arch.sync_threads()
    c[row, column] = total


@tt.jit
def tiled_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: tt.Int32) -> None:
    multiply_tiles(a, b, c, n).launch(grid=(n // TILE, n // TILE, 1), block=(TILE, TILE, 1))


def register_tiled(shape: Shape) -> Any:
    """The product whose threads have several numbers each, in tiles of this shape."""
    width, depth, rows, columns = shape.width, shape.depth, shape.rows, shape.columns
    threads, height_of_tile, width_of_tile = width * shape.height, shape.height * rows, width * columns
    left_stride = (1, height_of_tile) if shape.transposed else (depth, 1)

    @tt.kernel
    def multiply_in_registers(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: tt.Int32) -> None:
        tx, ty, _ = cute.arch.thread_idx()
        bx, by, _ = cute.arch.block_idx()
        thread = ty * width + tx
        memory = cute.SmemAllocator()
        left = memory.allocate_tensor(tt.Float32, cute.make_layout((height_of_tile, depth), stride=left_stride), 16)
        right = memory.allocate_tensor(
            tt.Float32, cute.make_layout((depth, width_of_tile), stride=(width_of_tile, 1)), 16
        )
        totals = cute.make_rmem_tensor(cute.make_layout((rows, columns)), tt.Float32)
        totals.fill(0.0)
        for start in range(0, n, depth):
            for part in tt.range_constexpr(height_of_tile * depth // threads):
                place = thread + threads * part
                left[place // depth, place % depth] = a[by * height_of_tile + place // depth, start + place % depth]
            for part in tt.range_constexpr(width_of_tile * depth // threads):
                place = thread + threads * part
                row, column = place // width_of_tile, place % width_of_tile
                right[row, column] = b[start + row, bx * width_of_tile + column]
            cute.arch.sync_threads()
            for k in range(depth):
                for i in tt.range_constexpr(rows):
                    for j in tt.range_constexpr(columns):
                        totals[i, j] = totals[i, j] + left[ty * rows + i, k] * right[k, tx + width * j]
            cute.arch.sync_threads()
        for i in tt.range_constexpr(rows):
            for j in tt.range_constexpr(columns):
                c[by * height_of_tile + ty * rows + i, bx * width_of_tile + tx + width * j] = totals[i, j]

    @tt.jit
    def multiply(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: tt.Int32) -> None:
        grid = (n // width_of_tile, n // height_of_tile, 1)
        multiply_in_registers(a, b, c, n).launch(grid=grid, block=(width, shape.height, 1))

    return multiply


register_gemm = register_tiled(SQUARE)
