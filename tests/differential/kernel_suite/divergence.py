"""Threads that part and meet again: branches around and inside warps' exchanges, loops left by vote or by barrier."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, Array, block_sizes, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.block_sharing import MOST, shared
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute


# exchanges of lanes ---------------------------------------------------------------------------------------------------
@tt.kernel
def around_kernel(x: cute.Tensor, out: cute.Tensor, limit: tt.Int32) -> None:
    """A branch, an exchange, and a branch on what was received; some lanes are in neither branch."""
    thread, _, _ = cute.arch.thread_idx()
    value = x[thread]
    if value > limit:
        value = value * 3 - thread
    elif value < -limit:
        for _ in range(value % 4):
            value -= thread
    received = cute.arch.shuffle_sync_bfly(value, 1)
    if received > value:
        out[thread] = received - value
    else:
        out[thread] = cute.arch.lane_idx()


@tt.jit
def around(x: cute.Tensor, out: cute.Tensor, limit: tt.Int32) -> None:
    around_kernel(x, out, limit).launch(grid=1, block=cute.size(x))


@case(10, pairs=st.integers(1, 512), limit=st.integers(0, 20), seed=SEEDS)
def branches_around_an_exchange(pairs: int, limit: int, seed: int) -> None:
    x = whole(seed, 2 * pairs, np.int32, 20)
    threads = np.arange(2 * pairs)
    value = np.where(x > limit, x * 3 - threads, np.where(x < -limit, x - x % 4 * threads, x))
    received = value[threads ^ 1]
    with output(2 * pairs, np.int32) as out:
        around(x, out, limit)
        same(out, np.where(received > value, received - value, threads % 32))


@tt.kernel
def inside_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """The halves of a warp exchange in branches of their own, in other ways."""
    thread, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    value = x[thread]
    if lane < 16:
        total = value
        for k in tt.range_constexpr(4):
            total += cute.arch.shuffle_sync_bfly(total, 1 << k, mask=0x0000FFFF)
        out[thread] = total
    else:
        largest = value
        for k in tt.range_constexpr(4):
            other = cute.arch.shuffle_sync_bfly(largest, 1 << k, mask=0xFFFF0000)
            if other > largest:
                largest = other
        positive = cute.arch.vote_ballot_sync(value > 0, mask=0xFFFF0000)
        out[thread] = largest * 100 + cute.arch.popc(positive)


@tt.jit
def inside(x: cute.Tensor, out: cute.Tensor) -> None:
    inside_kernel(x, out).launch(grid=1, block=cute.size(x))


@case(8, warps=st.integers(1, 32), seed=SEEDS)
def exchanges_inside_branches(warps: int, seed: int) -> None:
    x = whole(seed, 32 * warps, np.int32, 20)
    low, high = x.reshape(-1, 2, 16).transpose(1, 0, 2)
    expected = np.stack([low.sum(1), high.max(1) * 100 + (high > 0).sum(1)], 1).repeat(16)
    with output(32 * warps, np.int32) as out:
        inside(x, out)
        same(out, expected)


@tt.kernel
def groups_kernel(x: cute.Tensor, begins: cute.Tensor, out: cute.Tensor) -> None:
    """Groups of eight lanes over rows of their own lengths: exchanges in a loop that other groups have left."""
    thread, _, _ = cute.arch.thread_idx()
    group, lane = thread // 8, thread % 8
    mask = tt.Int32(255) << (group % 4 * 8)
    total = tt.Int32(0)
    rounds = tt.Int32(0)
    at = begins[group]
    while at < begins[group + 1]:
        value = x[at + lane] if at + lane < begins[group + 1] else 0
        for k in tt.range_constexpr(3):
            value += cute.arch.shuffle_sync_bfly(value, 1 << k, mask=mask)
        total += value
        rounds += 1
        if total > 500:
            break
        at += 8
    out[thread] = total * 10 + rounds


@tt.jit
def groups(x: cute.Tensor, begins: cute.Tensor, out: cute.Tensor) -> None:
    groups_kernel(x, begins, out).launch(grid=1, block=cute.size(out))


def _group(row: Array) -> int:
    total = rounds = 0
    for at in range(0, len(row), 8):
        total += int(row[at : at + 8].sum())
        rounds += 1
        if total > 500:
            break
    return total * 10 + rounds


@case(10, count=st.integers(1, 32).map(lambda warps: 4 * warps), longest=st.integers(0, 100), seed=SEEDS)
def exchanges_in_loops_of_groups(count: int, longest: int, seed: int) -> None:
    begins = np.zeros(count + 1, np.int32)
    begins[1:] = np.cumsum(np.random.default_rng(seed).integers(0, longest + 1, count))
    x = whole(seed, max(begins[-1], 1), np.int32, 50)
    expected = [_group(x[a:b]) for a, b in pairwise(begins)]
    with output(8 * count, np.int32) as out:
        groups(x, begins, out)
        same(out, np.repeat(expected, 8))


@tt.kernel
def together_kernel(x: cute.Tensor, out: cute.Tensor, rounds: cute.Tensor) -> None:
    """A loop that a warp leaves together, when no lane has work; lanes without work wait."""
    thread, _, _ = cute.arch.thread_idx()
    left = x[thread]
    done = tt.Int32(0)
    count = tt.Int32(0)
    while cute.arch.vote_any_sync(left > 0):
        if left > 0:
            left -= 1 + thread % 3
            done += left
        neighbour = cute.arch.shuffle_sync(done, cute.arch.lane_idx())
        done = neighbour + 1
        count += 1
    out[thread] = done
    rounds[thread] = count


@tt.jit
def together(x: cute.Tensor, out: cute.Tensor, rounds: cute.Tensor) -> None:
    together_kernel(x, out, rounds).launch(grid=1, block=cute.size(x))


@case(8, block=block_sizes(), most=st.integers(1, 60), seed=SEEDS)
def loops_left_by_vote(block: int, most: int, seed: int) -> None:
    x = whole(seed, block, np.int32, most)
    step = 1 + np.arange(block) % 3
    rounds = np.maximum(-(-x // step), 0)
    of_warp = np.concatenate([np.full(len(r), r.max()) for r in np.split(rounds, range(32, block, 32))])
    with output(block, np.int32) as out, output(block, np.int32) as found_rounds:
        together(x, out, found_rounds)
        same(found_rounds, of_warp)
        same(out, [r * v - s * r * (r + 1) // 2 + w for v, s, r, w in zip(x, step, rounds, of_warp, strict=True)])


@tt.kernel
def remaining_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """Lanes end early; those that remain vote among themselves."""
    thread, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    here = cute.arch.vote_ballot_sync(x[thread] > 0)
    if x[thread] <= 0:
        out[thread] = -1
        return
    even = cute.arch.vote_ballot_sync(x[thread] % 2 == 0, mask=here)
    first = cute.arch.ffs(here) - 1
    leader = cute.arch.shuffle_sync(x[thread], first, mask=here)
    out[thread] = cute.arch.popc(even) * 1000 + leader * 40 + lane


@tt.jit
def remaining(x: cute.Tensor, out: cute.Tensor) -> None:
    remaining_kernel(x, out).launch(grid=1, block=cute.size(x))


@case(8, block=block_sizes(), seed=SEEDS)
def lanes_that_remain(block: int, seed: int) -> None:
    x = whole(seed, block, np.int32, 9)
    expected = np.full(block, -1)
    for first in range(0, block, 32):
        here = x[first : first + 32]
        positive = here > 0
        if positive.any():
            value = (positive & (here % 2 == 0)).sum() * 1000 + here[positive][0] * 40 + np.arange(len(here))
            expected[first : first + 32] = np.where(positive, value, -1)
    with output(block, np.int32) as out:
        remaining(x, out)
        same(out, expected)


# barriers -------------------------------------------------------------------------------------------------------------
@tt.kernel
def sort_kernel(x: cute.Tensor, rounds: cute.Tensor) -> None:
    """Neighbours change places until no one of the block has changed any more."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    values = shared(tt.Int32, MOST)
    moved = shared(tt.Int32, 1)
    values[thread] = x[row, thread]
    count = tt.Int32(0)
    while True:
        if thread == 0:
            moved[0] = 0
        cute.arch.sync_threads()
        for parity in range(2):
            left = 2 * (thread // 2) + parity
            if thread % 2 == 0 and left + 1 < threads and values[left] > values[left + 1]:
                larger = values[left]
                values[left] = values[left + 1]
                values[left + 1] = larger
                moved[0] = 1
            cute.arch.sync_threads()
        count += 1
        if moved[0] == 0:
            break
        cute.arch.sync_threads()
    x[row, thread] = values[thread]
    if thread == 0:
        rounds[row] = count


@tt.jit
def sort_rows(x: cute.Tensor, rounds: cute.Tensor) -> None:
    rows, columns = x.shape
    sort_kernel(x, rounds).launch(grid=rows, block=columns)


@case(10, rows=st.integers(1, 4), block=block_sizes(300), seed=SEEDS)
def loops_left_when_all_agree(rows: int, block: int, seed: int) -> None:
    x = whole(seed, (rows, block), np.int32, 1000)
    x[0].sort()
    with output((rows, block), np.int32) as out, output(rows, np.int32) as rounds:
        out[...] = x
        sort_rows(out, rounds)
        same(out, np.sort(x, axis=1))
        assert rounds[0] == 1
        assert (rounds <= block // 2 + 2).all()


@tt.kernel
def by_block_kernel(x: cute.Tensor, lengths: cute.Tensor, out: cute.Tensor, stop: tt.Int32) -> None:
    """Barriers in loops and branches that the blocks take in different ways, but the threads of a block alike."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    block, _, _ = cute.arch.block_idx()
    values = shared(tt.Int64, MOST)
    own = x[block, thread]
    for i in range(lengths[block]):
        if i == stop:
            break
        values[thread] = own
        cute.arch.sync_threads()
        own = values[(thread + i) % threads] + i
        cute.arch.sync_threads()
        if block % 2 == 1:
            if thread == threads - 1:
                values[0] = own
            cute.arch.sync_threads()
            if i % 3 == 1:
                own += values[0]
                cute.arch.sync_threads()
                continue
            own -= 1
            cute.arch.sync_threads()
    out[block, thread] = own


@tt.jit
def by_block(x: cute.Tensor, lengths: cute.Tensor, out: cute.Tensor, stop: tt.Int32) -> None:
    rows, columns = x.shape
    by_block_kernel(x, lengths, out, stop).launch(grid=rows, block=columns)


def _by_block(own: Array, block: int, length: int, stop: int) -> Array:
    threads = np.arange(len(own))
    for i in range(length):
        if i == stop:
            break
        own = own[(threads + i) % len(own)] + i
        if block % 2 == 1:
            own = own + own[-1] if i % 3 == 1 else own - 1
    return own


@case(12, rows=st.integers(1, 6), block=block_sizes(), most=st.integers(0, 12), stop=st.integers(0, 12), seed=SEEDS)
def barriers_in_uniform_loops_and_branches(rows: int, block: int, most: int, stop: int, seed: int) -> None:
    x = whole(seed, (rows, block), np.int64, 1000)
    lengths = np.random.default_rng(seed).integers(0, most + 1, rows).astype(np.int32)
    with output((rows, block), np.int64) as out:
        by_block(x, lengths, out, stop)
        same(out, [_by_block(own, row, length, stop) for row, (own, length) in enumerate(zip(x, lengths, strict=True))])


@tt.kernel
def ended_kernel(x: cute.Tensor, out: cute.Tensor, rounds: tt.Int32) -> None:
    """Threads beyond the row end at once; those that remain meet at barriers without them."""
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    n = x.shape[1]
    values = shared(tt.Int32, MOST)
    if thread >= n:
        return
    own = x[row, thread]
    for i in range(rounds):
        values[thread] = own
        cute.arch.sync_threads()
        own = values[n - 1 - thread] + i * thread
        cute.arch.sync_threads()
    out[row, thread] = own


@tt.jit
def ended(x: cute.Tensor, out: cute.Tensor, rounds: tt.Int32, block: tt.Int32) -> None:
    ended_kernel(x, out, rounds).launch(grid=x.shape[0], block=block)


@case(8, rows=st.integers(1, 4), n=block_sizes(), spare=st.integers(0, 200), rounds=st.integers(0, 5), seed=SEEDS)
def barriers_without_threads_that_have_ended(rows: int, n: int, spare: int, rounds: int, seed: int) -> None:
    x = whole(seed, (rows, n), np.int32, 1000)
    expected = x
    for i in range(rounds):
        expected = expected[:, ::-1] + i * np.arange(n)
    with output((rows, n), np.int32) as out:
        ended(x, out, rounds, min(n + spare, MOST))
        same(out, expected)
