"""Puzzles 8 to 13: threads that add up what others have brought."""

from __future__ import annotations

import numpy as np

from triptych.workbench.puzzles.puzzle import Puzzle, numbers


def _pooled(a: np.ndarray) -> np.ndarray:
    padded = np.concatenate([np.zeros(2, a.dtype), a])
    return np.asarray(padded[:-2] + padded[1:-1] + padded[2:])


POOLING = Puzzle(
    "pooling",
    '''"""Puzzle 8, pooling: out[i] = a[i - 2] + a[i - 1] + a[i]; what lies before a[0] counts as 0.

    a      | 1 | 2 | 3 | 4 | ...
             `-----------'
    out    | 1 | 3 | 6 | 9 | ...       9 = 2 + 3 + 4

    Global memory is slow: each element is read once, into shared memory.
"""

import triptych as tt
from triptych import cute


@tt.kernel
def pool(a: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(8))
    tile[i] = a[i]
    cute.arch.sync_threads()
    total = tile[i]
    for step in (1, 2):
        if «i >= step»:
            total += «tile[i - step]»
    out[i] = total


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    pool(a, out).launch(grid=1, block=8)
''',
    lambda random: [numbers(random, 8)],
    _pooled,
    ("Thread 0 has no neighbour to its left, thread 1 has one.", "The neighbour at a distance of step is i - step."),
)

DOT = Puzzle(
    "dot_product",
    '''"""Puzzle 9, dot product: out[0] = a[0] * b[0] + ... + a[7] * b[7], in three steps.

    tile     p0  p1  p2  p3  p4  p5  p6  p7
    half 4   p0+p4   p1+p5   p2+p6   p3+p7
    half 2   p0+p4+p2+p6     p1+p5+p3+p7
    half 1   all of them in tile[0]
"""

import triptych as tt
from triptych import cute


@tt.kernel
def dot(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(8))
    tile[i] = a[i] * b[i]
    for half in (4, 2, 1):
        «cute.arch.sync_threads()
        if i < half:
            tile[i] += tile[i + half]»  # three lines
    if i == 0:
        out[0] = tile[0]


@tt.jit
def solve(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    dot(a, b, out).launch(grid=1, block=8)
''',
    lambda random: [numbers(random, 8), numbers(random, 8)],
    lambda a, b: (a * b).sum(keepdims=True),
    (
        "In each step the first `half` threads add what lies `half` further on to their own element.",
        "A thread may read an element only when the thread that wrote it in the step before is done.",
        "The barrier stands at the beginning of each step, outside of the `if`: all threads come to it.",
    ),
)

CONVOLUTION = Puzzle(
    "convolution",
    '''"""Puzzle 10, 1-D convolution: out[i] = a[i] * b[0] + ... + a[i + 3] * b[3]; behind a come zeros.

    A block makes 8 results, and needs 3 elements more than that: its halo.

    tile     | 0 1 2 3 4 5 6 7 | 8 9 10 |
               a thread each     who brings these?
"""

import triptych as tt
from triptych import cute


@tt.kernel
def convolve(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 8 + t
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(11))
    tile[t] = a[i]
    «if t < 3:
        tile[t + 8] = a[i + 8] if i + 8 < cute.size(a) else 0.0»  # two lines
    cute.arch.sync_threads()
    total = tt.Float32(0.0)
    for k in range(4):
        total += tile[t + k] * b[k]
    out[i] = total


@tt.jit
def solve(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    convolve(a, b, out).launch(grid=2, block=8)
''',
    lambda random: [numbers(random, 16), numbers(random, 4)],
    lambda a, b: np.convolve(np.concatenate([a, np.zeros(3, a.dtype)]), b[::-1], "valid").astype(a.dtype),
    (
        "Three of the eight threads bring a second element.",
        "Element t + 8 of the tile is element i + 8 of a.",
        "In the last block i + 8 lies behind the end of a: there the tile gets 0.0.",
    ),
)

PREFIX_SUM = Puzzle(
    "prefix_sum",
    '''"""Puzzle 11, prefix sum: out[i] = a[0] + a[1] + ... + a[i], in three steps instead of eight.

    tile     1   1   1   1   1   1   1   1
    step 1   1   2   2   2   2   2   2   2      each adds its neighbour
    step 2   1   2   3   4   4   4   4   4      then the one two to the left
    step 4   1   2   3   4   5   6   7   8
"""

import triptych as tt
from triptych import cute


@tt.kernel
def scan(a: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(8))
    total = a[i]
    for step in (1, 2, 4):
        tile[i] = total
        cute.arch.sync_threads()
        «if i >= step:
            total += tile[i - step]
        cute.arch.sync_threads()»  # three lines
    out[i] = total


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    scan(a, out).launch(grid=1, block=8)
''',
    lambda random: [numbers(random, 8)],
    lambda a: np.cumsum(a),
    (
        "A thread adds what lies step to the left, if there is something.",
        "The next turn overwrites tile: has everybody read it by then?",
        "A loop that uses shared memory again needs a second barrier, after the reads.",
    ),
)

AXIS_SUM = Puzzle(
    "axis_sum",
    '''"""Puzzle 12, axis sum: out[row] = the sum of a row, a block of 32 threads for each: one warp.

    Lanes of a warp read each other's variables: no shared memory, no barrier.
    shuffle_sync_down(x, offset=k) is the x of the lane k further on.

    lane        0   1   2   3   ...  16  17  ...
    offset 16   |<-------------------'           then 8, 4, 2, 1
"""

import triptych as tt
from triptych import cute


@tt.kernel
def sum_rows(a: cute.Tensor, out: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    total = tt.Float32(0.0)
    for column in range(«lane, a.shape[1], 32»):  # the columns of this lane
        total += a[row, column]
    for offset in (16, 8, 4, 2, 1):
        «total += cute.arch.shuffle_sync_down(total, offset=offset)»  # one line
    if lane == 0:
        out[row] = total


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    sum_rows(a, out).launch(grid=a.shape[0], block=32)
''',
    lambda random: [numbers(random, 4, 80)],
    lambda a: a.sum(axis=1),
    (
        "Neighbouring lanes take neighbouring columns: lane 0 takes 0, 32 and 64.",
        "range(first, end, step) as in Python; a row has a.shape[1] columns.",
        "After offset 16 lane 0 has its own total and that of lane 16.",
    ),
)

MATRIX_PRODUCT = Puzzle(
    "matrix_product",
    '''"""Puzzle 13, matrix product: c = a @ b of 8 x 8 matrices, by blocks of 4 x 4 threads.

    A thread makes one element of c: a row of a times a column of b, four at a time,
    through tiles that its block shares.

            a: |ta|..|        b: |tb|..|      c: |..|..|
               |..|..|           |..|..|         |..|..|
"""

import triptych as tt
from triptych import cute


@tt.kernel
def multiply(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    x, y, _ = cute.arch.thread_idx()
    block_x, block_y, _ = cute.arch.block_idx()
    row, column = block_y * 4 + y, block_x * 4 + x
    smem, shape = cute.SmemAllocator(), cute.make_layout((4, 4), stride=(4, 1))
    ta, tb = smem.allocate_tensor(tt.Float32, shape), smem.allocate_tensor(tt.Float32, shape)
    total = tt.Float32(0.0)
    for k in range(0, 8, 4):
        ta[y, x], tb[y, x] = «a[row, k + x], b[k + y, column]»
        cute.arch.sync_threads()
        for i in range(4):
            total += «ta[y, i] * tb[i, x]»
        «cute.arch.sync_threads()»  # what must happen before the next turn?
    c[row, column] = total


@tt.jit
def solve(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    multiply(a, b, c).launch(grid=(2, 2), block=(4, 4))
''',
    lambda random: [numbers(random, 8, 8), numbers(random, 8, 8)],
    lambda a, b: a @ b,
    (
        "In the turn of k the tiles hold columns k to k + 3 of a, and rows k to k + 3 of b.",
        "c[row, column] is the sum of a[row, j] * b[j, column]: i walks along a row of ta and down a column of tb.",
        "The next turn overwrites tiles that another thread may still be reading.",
    ),
)

SUMS = (POOLING, DOT, CONVOLUTION, PREFIX_SUM, AXIS_SUM, MATRIX_PRODUCT)
