"""Puzzles 14 to 20: banks, layouts of threads, copies that go on by themselves, barriers with phases, and a race."""

from __future__ import annotations

import numpy as np

from triptych.workbench.puzzles.puzzle import Puzzle, numbers

SWIZZLE = Puzzle(
    "swizzle",
    '''"""Puzzle 14, swizzle: out = a transposed, 32 x 32, without bank conflicts.

    Element (row, column) of a plain tile is word 32 * row + column, in bank word % 32:
    32 threads that read a column all want one bank, and take turns.
    make_swizzle(bits, base, shift) changes the word: it takes `bits` bits of it from
    position base + shift on, and flips those at position base with them.

    word      r r r r r c c c c c        row and column, 5 bits each
    swizzled  r r r r r x x x x x        x = c xor r: rows are permuted, each in its own way
"""

import triptych as tt
from triptych import cute

PLAIN = cute.make_layout((32, 32), stride=(32, 1))
TILE = cute.make_composed_layout(cute.make_swizzle(«5, 0, 5»), 0, PLAIN)


@tt.kernel
def transpose(a: cute.Tensor, out: cute.Tensor):
    x, y, _ = cute.arch.thread_idx()
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, TILE)
    for row in range(y, 32, 4):
        tile[row, x] = a[row, x]
    cute.arch.sync_threads()
    for row in range(y, 32, 4):
        out[row, x] = tile[x, row]


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    transpose(a, out).launch(grid=1, block=(32, 4))
''',
    lambda random: [numbers(random, 32, 32)],
    lambda a: a.T.copy(),
    (
        "All five bits of the bank should depend on the row.",
        "The bits of the column begin at position 0, those of the row at position 5.",
    ),
    forbids_conflicts=True,
)


def _owners(a: np.ndarray) -> np.ndarray:
    """Threads two to a row, four values each."""
    return (10 * np.repeat(a, 4) + np.tile(np.arange(4), 8)).reshape(4, 8).astype(a.dtype)


TV_LAYOUT = Puzzle(
    "tv_layout",
    '''"""Puzzle 15, TV layout: which thread has which values of a tile of 4 x 8?

    Thread t has 4 neighbours of a row, two threads share a row:

    T0 T0 T0 T0 T1 T1 T1 T1      each writes 10 * a[t] + v to its value v
    T2 T2 T2 T2 T3 T3 T3 T3
    T4 T4 T4 T4 T5 T5 T5 T5
    T6 T6 T6 T6 T7 T7 T7 T7

    A TV layout maps (thread, value) to a place of the tile, counted down the columns:
    the place of (row, column) is row + 4 * column. The mode of threads is (2, 4):
    two beside each other, four below each other.
"""

import triptych as tt
from triptych import cute

TV = cute.make_layout(((2, 4), 4), stride=«((16, 1), 4)»)


@tt.kernel
def own(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    tile = cute.make_tensor(out.iterator, cute.make_layout((4, 8), stride=(8, 1)))
    parts = cute.composition(tile, TV)
    for v in range(4):
        parts[t, v] = 10 * a[t] + v


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    own(a, out).launch(grid=1, block=8)
''',
    lambda random: [numbers(random, 8)],
    _owners,
    (
        "A stride says how far the place moves when a coordinate grows by 1.",
        "From one value of a thread to the next it is one column: 4 places.",
        "From thread 0 to thread 1 it is four columns; from thread 0 to thread 2 one row.",
    ),
)

CP_ASYNC = Puzzle(
    "cp_async",
    '''"""Puzzle 16, cp.async with two stages: sum four tiles of 32; a tile comes while another is used.

    stage 0   | tile 0 ........ | tile 2 ........ |
    stage 1            | tile 1 ........ | tile 3 ........ |

    A copy is done when its group has been waited for: cp_async_wait_group(n) lets the
    n youngest groups of this thread go on. Thread t reads what thread 31 - t asked for.
"""

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync


@tt.kernel
def add_tiles(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    stages = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    total = tt.Float32(0.0)
    for k in tt.range_constexpr(5):
        if tt.const_expr(k < 4):  # ask for tile k
            place = k % 2 * 32 + t
            cute.copy(atom, cute.local_tile(a, (1,), (k * 32 + t,)), cute.local_tile(stages, (1,), (place,)))
        cute.arch.cp_async_commit_group()
        if tt.const_expr(k > 0):  # use tile k - 1
            cute.arch.cp_async_wait_group(«1»)
            cute.arch.sync_threads()
            total += stages[(k - 1) % 2 * 32 + 31 - t]
            «cute.arch.sync_threads()»  # one line
    out[t] = total


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    add_tiles(a, out).launch(grid=1, block=32)
''',
    lambda random: [numbers(random, 128)],
    lambda a: a.reshape(4, 32).sum(axis=0)[::-1].copy(),
    (
        "When tile k - 1 is used, the groups of tile k - 1 and of tile k are under way.",
        "The copy of tile k may go on, that of tile k - 1 may not.",
        "The next turn copies into the stage that was just read: has every thread read it?",
    ),
)

PHASE = Puzzle(
    "mbarrier_phase",
    '''"""Puzzle 17, an mbarrier's phase: warp 0 fills one buffer four times, warp 1 empties it.

    mbarrier_wait(bar, parity) waits until the phase of that parity has ended. The first phase of an
    mbarrier has parity 0, the next 1, then 0 again. The phase before the first counts as ended:
    mbarrier_wait(bar, 1) on a new one does not wait.

    full     phase 0: filled k = 0     phase 1: k = 1     ...
    empty                phase 0: emptied k = 0     phase 1: k = 1
"""

import triptych as tt
from triptych import cute
from triptych.cute import arch


@tt.kernel
def hand_over(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    smem = cute.SmemAllocator()
    buffer, full = smem.allocate_tensor(tt.Float32, cute.make_layout(32)), smem.allocate_array(tt.Int64, 2, 8)
    empty = full + 1
    if t == 0:
        arch.mbarrier_init(full, 32)
        arch.mbarrier_init(empty, 32)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in range(4):
        if t < 32:
            arch.mbarrier_wait(empty, «(k + 1) % 2»)  # before filling number k
            buffer[t] = a[k * 32 + t]
            arch.mbarrier_arrive(full)
        else:
            arch.mbarrier_wait(full, «k % 2»)  # before emptying number k
            out[k * 32 + t - 32] = buffer[63 - t]
            arch.mbarrier_arrive(empty)


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    hand_over(a, out).launch(grid=1, block=64)
''',
    lambda random: [numbers(random, 128)],
    lambda a: a.reshape(4, 32)[:, ::-1].reshape(-1).copy(),
    (
        "Emptying number 0 waits for the first phase of full, whose parity is 0. And number 1?",
        "Filling number 0 waits for nobody: the buffer is empty. Which parity does not wait at first?",
        "Filling number 1 waits until number 0 has been emptied: the first phase of empty.",
    ),
)

RING = Puzzle(
    "ring",
    '''"""Puzzle 18, a warp-specialised ring: warp 0 brings tiles into two stages, warp 1 adds them up.

    producer  acquire, write, commit, advance      | stage 0 | stage 1 |
    consumer  wait, read, release, advance           in turn, each when it is due

    The pipeline has an mbarrier for each stage that is full and for each that is empty,
    and `put` and `take` know the stage and the phase. The producer is written; write the consumer.
"""

import triptych as tt
from triptych import cute, pipeline


@tt.kernel
def add_tiles(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem, warp = cute.SmemAllocator(), pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    tiles = smem.allocate_tensor(tt.Float32, cute.make_layout((32, 2)))
    bars = smem.allocate_array(tt.Int64, 4, 8)
    pipe = pipeline.PipelineAsync.create(num_stages=2, producer_group=warp, consumer_group=warp, barrier_storage=bars)
    put = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
    take = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
    total = tt.Float32(0.0)
    for k in range(5):
        if t < 32:
            pipe.producer_acquire(put)
            tiles[t, put.index] = a[k * 32 + t]
            pipe.producer_commit(put)
            put.advance()
        else:
            «pipe.consumer_wait(take)
            total += tiles[63 - t, take.index]
            pipe.consumer_release(take)
            take.advance()»  # four lines; thread t reads tiles[63 - t, stage]
    if t >= 32:
        out[t - 32] = total


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    add_tiles(a, out).launch(grid=1, block=64)
''',
    lambda random: [numbers(random, 160)],
    lambda a: a.reshape(5, 32).sum(axis=0)[::-1].copy(),
    (
        "The consumer does with `take` what the producer does with `put`.",
        "Its calls are pipe.consumer_wait(take), pipe.consumer_release(take) and take.advance().",
        "take.index is the stage. It may be read after the wait and before the release.",
    ),
)


def _softmax(a: np.ndarray) -> np.ndarray:
    powers = np.exp(a - a.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


SOFTMAX = Puzzle(
    "online_softmax",
    '''"""Puzzle 19, online softmax: out[r, j] = exp(a[r, j] - m) / (the sum of them), m the largest of row r.

    The usual way reads a row three times: for m, for the sum, for the result. Online it is
    two: the sum is of exp(x - m) for the largest m so far, and when a larger one comes,
    what was summed up is too large by a factor.

    x         2     5                       4
    m         2     5                       5
    total     1     1 * exp(2 - 5) + 1      ... + exp(4 - 5)
"""

import triptych as tt
from triptych import cute


@tt.kernel
def softmax(a: cute.Tensor, out: cute.Tensor):
    r, _, _ = cute.arch.thread_idx()
    m, total = a[r, 0], tt.Float32(1.0)
    for j in range(1, a.shape[1]):
        x = a[r, j]
        larger = cute.arch.fmax(m, x)
        total = «total * cute.math.exp(m - larger) + cute.math.exp(x - larger)»
        m = larger
    for j in range(a.shape[1]):
        out[r, j] = cute.math.exp(a[r, j] - m) / total


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    softmax(a, out).launch(grid=1, block=4)
''',
    lambda random: [20 * numbers(random, 4, 12)],
    _softmax,
    (
        "total is a sum of exp(x - m). Which factor makes it a sum of exp(x - larger)?",
        "exp(x - larger) = exp(x - m) * exp(m - larger).",
        "Then the new element is added: exp(x - larger).",
    ),
)

RACE = Puzzle(
    "race",
    '''"""Puzzle 20, a race to find: each element gets its right neighbour added, then all are reversed.

    a      | 1 | 2 | 3 | ...
    tile   | 3 | 5 | 7 | ...         tile[t] = a[t] + a[t + 1], the last one with a[0]
    out    | ... | 7 | 5 | 3 |

    Two barriers are there and one is missing: the result is right here, and wrong on a GPU
    on some days. At which of the places "a", "b" and "c" is the third one due?
"""

import triptych as tt
from triptych import cute

PLACE = «"b"»


def barrier_at(place):
    if tt.const_expr(place == PLACE):
        cute.arch.sync_threads()


@tt.kernel
def add_right(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64))
    tile[t] = a[t]
    barrier_at("a")
    cute.arch.sync_threads()
    right = tile[(t + 1) % 64]
    barrier_at("b")
    tile[t] = a[t] + right
    barrier_at("c")
    cute.arch.sync_threads()
    out[t] = tile[63 - t]


@tt.jit
def solve(a: cute.Tensor, out: cute.Tensor):
    add_right(a, out).launch(grid=1, block=64)
''',
    lambda random: [numbers(random, 64)],
    lambda a: (a + np.roll(a, -1))[::-1].copy(),
    (
        "Between two barriers no element may be written by one thread and used by another.",
        "Look at tile[1]: thread 1 writes it, thread 0 reads it. In which line each?",
        "Thread 1 may be at its second line when thread 0 has not done its first one.",
    ),
)

HARDWARE = (SWIZZLE, TV_LAYOUT, CP_ASYNC, PHASE, RING, SOFTMAX, RACE)
