"""Puzzles 1 to 7: which thread does what, and the first barrier."""

from __future__ import annotations

from triptych.workbench.puzzles.puzzle import Puzzle, numbers

MAP = Puzzle(
    "map",
    '''"""Puzzle 1, map: out[i] = a[i] + 10, a thread for each element.

    a      | 3 | 1 | 4 | ...
    thread   0   1   2
    out    |13 |11 |14 | ...
"""

import triptych as tt
from triptych import cute


@tt.kernel
def add_ten(a: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    «out[i] = a[i] + 10»  # one line


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    add_ten(a, out).launch(grid=1, block=8)
''',
    lambda random: [numbers(random, 8)],
    lambda a: a + 10,
    (
        "A kernel says what one thread does. All 8 threads run this line, each with its own i.",
        "Thread i reads one element, a[i], and writes one, out[i].",
    ),
)

ZIP = Puzzle(
    "zip",
    '''"""Puzzle 2, zip: out[i] = a[i] + b[i], a thread for each pair.

    a      | 3 | 1 | 4 | ...
    b      | 2 | 7 | 1 | ...
    out    | 5 | 8 | 5 | ...
"""

import triptych as tt
from triptych import cute


@tt.kernel
def add(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    «out[i] = a[i] + b[i]»  # one line


@tt.jit
def solve(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    add(a, b, out).launch(grid=1, block=8)
''',
    lambda random: [numbers(random, 8), numbers(random, 8)],
    lambda a, b: a + b,
    ("As in puzzle 1, but a thread reads from two tensors.", "Both are read at the place that is written: i."),
)

GUARD = Puzzle(
    "guard",
    '''"""Puzzle 3, guard: out[i] = a[i] + 10 again, but there are 8 threads and only 5 elements.

    a      | 3 | 1 | 4 | 1 | 5 |
    thread   0   1   2   3   4   5   6   7
                                 nothing to do
"""

import triptych as tt
from triptych import cute


@tt.kernel
def add_ten(a: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if «i < cute.size(a)»:  # which threads have an element?
        out[i] = a[i] + 10


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    add_ten(a, out).launch(grid=1, block=8)
''',
    lambda random: [numbers(random, 5)],
    lambda a: a + 10,
    ("Threads 5, 6 and 7 must not touch memory at all.", "cute.size(a) is the number of elements of a."),
)

MAP_2D = Puzzle(
    "map_2d",
    '''"""Puzzle 4, 2-D map: out[row, column] = 2 * a[row, column], for 3 rows and 5 columns.

    The block has 8 x 4 threads. x counts fastest, and neighbours in x should take
    neighbours in memory: a tensor of 3 x 5 is stored row by row.

          x: 0 1 2 3 4 5 6 7
    y = 0    a a a a a . . .
    y = 1    a a a a a . . .
    y = 2    a a a a a . . .
    y = 3    . . . . . . . .
"""

import triptych as tt
from triptych import cute


@tt.kernel
def double(a: cute.Tensor, out: cute.Tensor):
    x, y, _ = cute.arch.thread_idx()
    where = «y, x»  # (row, column) of this thread
    if cute.elem_less(where, a.shape):
        out[where] = 2 * a[where]


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    double(a, out).launch(grid=1, block=(8, 4))
''',
    lambda random: [numbers(random, 3, 5)],
    lambda a: 2 * a,
    (
        "The picture says which of x and y goes down the rows.",
        "x reaches 7 and y only 3: 5 columns need the longer one.",
    ),
)

BROADCAST = Puzzle(
    "broadcast",
    '''"""Puzzle 5, broadcast: out[i, j] = a[i] + b[j]: a column and a row make a table.

             b: | 10 | 20 | 30 |
    a: | 1 |    | 11 | 21 | 31 |
       | 2 |    | 12 | 22 | 32 |
"""

import triptych as tt
from triptych import cute


@tt.kernel
def table(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    x, y, _ = cute.arch.thread_idx()
    if cute.elem_less((y, x), out.shape):
        out[y, x] = «a[y] + b[x]»


@tt.jit
def solve(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    table(a, b, out).launch(grid=1, block=(8, 8))
''',
    lambda random: [numbers(random, 4), 10 * numbers(random, 6)],
    lambda a, b: a[:, None] + b,
    ("Which of the two does not change along a row of out?", "a has as many elements as out has rows."),
)

BLOCKS = Puzzle(
    "blocks",
    '''"""Puzzle 6, blocks: out[i] = a[i] + 10 with 3 blocks of 4 threads, for 10 elements.

    block    0                 1                 2
    thread   0   1   2   3  |  0   1   2   3  |  0   1   2   3
    i        0   1   2   3     4   5   6   7     8   9   .   .
"""

import triptych as tt
from triptych import cute


@tt.kernel
def add_ten(a: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    threads, _, _ = cute.arch.block_dim()
    i = «block * threads + thread»
    if i < cute.size(a):
        out[i] = a[i] + 10


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    add_ten(a, out).launch(grid=cute.ceil_div(cute.size(a), 4), block=4)
''',
    lambda random: [numbers(random, 10)],
    lambda a: a + 10,
    (
        "thread alone begins again at 0 in each block.",
        "How many elements lie before the first one of block 2?",
    ),
)

SHARED = Puzzle(
    "shared_memory",
    '''"""Puzzle 7, shared memory: reverse each group of 8 elements, through memory that a block shares.

    a      | 1  2  3  4  5  6  7  8 | 9 ...
    tile   | 1  2  3  4  5  6  7  8 |         thread t wrote tile[t]
    out    | 8  7  6  5  4  3  2  1 | ...     thread t reads what another one wrote
"""

import triptych as tt
from triptych import cute


@tt.kernel
def reverse(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(8))
    tile[t] = a[block * 8 + t]
    «cute.arch.sync_threads()
    out[block * 8 + t] = tile[7 - t]»  # two lines


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    reverse(a, out).launch(grid=2, block=8)
''',
    lambda random: [numbers(random, 16)],
    lambda a: a.reshape(-1, 8)[:, ::-1].reshape(-1).copy(),
    (
        "Nothing says that thread 7 has written tile[7] when thread 0 reads it.",
        "cute.arch.sync_threads() waits until all threads of the block are there.",
        "Thread t reads tile[7 - t] after the barrier.",
    ),
)

THREADS = (MAP, ZIP, GUARD, MAP_2D, BROADCAST, BLOCKS, SHARED)
