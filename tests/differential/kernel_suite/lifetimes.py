"""Values of a thread that live across barriers: numbers of all types, vectors, truth values, registers, pointers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, Array, block_sizes, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.block_sharing import MOST, shared
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute

ROWS = {"rows": st.integers(1, 4), "block": block_sizes(), "seed": SEEDS}


@tt.kernel
def types_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """One value of each type before the barrier, all of them used after it."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    ring = shared(tt.Int32, MOST)
    value = x[row, thread]
    narrow, wide, half, double = value.to(tt.Int8), value.to(tt.Int64), value.to(tt.Float16), value.to(tt.Float64)
    positive = value > 0
    unsigned = value.to(tt.Uint8)
    ring[thread] = value
    cute.arch.sync_threads()
    neighbour = ring[(thread + 1) % threads]
    total = wide * 1000 + narrow + half.to(tt.Int64) + double.to(tt.Int64) + neighbour
    if positive:
        total += unsigned
    cute.arch.sync_threads()
    ring[thread] = neighbour - value
    cute.arch.sync_threads()
    out[row, thread] = total - ring[threads - 1 - thread] if positive else total


@tt.jit
def types(x: cute.Tensor, out: cute.Tensor) -> None:
    rows, columns = x.shape
    types_kernel(x, out).launch(grid=rows, block=columns)


@case(10, **ROWS)
def numbers_of_all_types(rows: int, block: int, seed: int) -> None:
    x = whole(seed, (rows, block), np.int32, 2000)
    neighbour = np.roll(x, -1, axis=1)
    wide = x.astype(np.int64)
    total = wide * 1000 + x.astype(np.int8) + 2 * wide + neighbour
    total += np.where(x > 0, x.astype(np.uint8), 0)
    with output((rows, block), np.int64) as out:
        types(x, out)
        same(out, np.where(x > 0, total - (neighbour - x)[:, ::-1], total))


@tt.kernel
def fragments_kernel(x: cute.Tensor, out: cute.Tensor, steps: tt.Int32) -> None:
    """Registers at run-time indices, and a vector, while the block passes numbers on in a loop."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    passed = shared(tt.Int32, MOST)
    seen = cute.make_rmem_tensor(4, tt.Int32)
    seen.fill(0)
    vector = seen.load()
    own = x[row, thread]
    for step in range(steps):
        passed[thread] = own
        cute.arch.sync_threads()
        own = passed[(thread + threads - 1) % threads] + step
        seen[own % 4] = seen[own % 4] + 1
        cute.arch.sync_threads()
        vector = vector * 2 + seen.load()
    for k in tt.range_constexpr(4):
        out[row, thread, k] = seen[k] * 100_000 + vector[k]


@tt.jit
def fragments(x: cute.Tensor, out: cute.Tensor, steps: tt.Int32) -> None:
    rows, columns = x.shape
    fragments_kernel(x, out, steps).launch(grid=rows, block=columns)


def _fragments(own: Array, steps: int) -> Array:
    seen = np.zeros((*own.shape, 4), np.int32)
    vector = seen.copy()
    for step in range(steps):
        own = np.roll(own, 1, axis=1) + step
        seen += own[..., None] % 4 == np.arange(4)
        vector = vector * 2 + seen
    return seen * 100_000 + vector


@case(10, steps=st.integers(0, 9), **ROWS)
def registers_and_vectors(steps: int, rows: int, block: int, seed: int) -> None:
    x = whole(seed, (rows, block), np.int32, 2000)
    with output((rows, block, 4), np.int32) as out:
        fragments(x, out, steps)
        same(out, _fragments(x, steps))


@tt.kernel
def windows_kernel(x: cute.Tensor, out: cute.Tensor, tiles: tt.Int32) -> None:
    """Tensors and pointers that move in a loop with barriers; a thread stops writing when it has met a zero."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    buffers = shared(tt.Int32, (2, MOST))
    window = cute.domain_offset((row, 0), x)
    here, there = buffers[0, None], buffers[1, None]
    target = out.iterator + row * threads + thread
    writing = tt.Boolean(True)
    total = tt.Int32(0)
    for _ in range(tiles):
        here[thread] = window[0, thread]
        cute.arch.sync_threads()
        there[thread] = here[threads - 1 - thread]
        cute.arch.sync_threads()
        if there[thread] == 0:
            writing = tt.Boolean(False)
        if writing:
            total += there[thread]
        window = cute.domain_offset((0, threads), window)
    cute.make_tensor(target, cute.make_layout(1))[0] = total


@tt.jit
def windows(x: cute.Tensor, out: cute.Tensor, tiles: tt.Int32) -> None:
    rows, columns = out.shape
    windows_kernel(x, out, tiles).launch(grid=rows, block=columns)


@case(10, tiles=st.integers(1, 6), **ROWS)
def windows_that_move(tiles: int, rows: int, block: int, seed: int) -> None:
    x = whole(seed, (rows, tiles * block), np.int32, 6)
    parts = x.reshape(rows, tiles, block)[:, :, ::-1]
    expected = (parts * np.cumprod(parts != 0, axis=1)).sum(1)
    with output((rows, block), np.int32) as out:
        windows(x, out, tiles)
        same(out, expected)


@tt.kernel
def places_kernel(x: cute.Tensor, out: cute.Tensor, steps: tt.Int32) -> None:
    """The same register at a run-time place on both sides of a barrier; the place moves with each iteration."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    passed = shared(tt.Int32, MOST)
    seen = cute.make_rmem_tensor(4, tt.Int32)
    for k in tt.range_constexpr(4):
        seen[k] = k
    place = x[row, thread] % 4
    for step in range(steps):
        passed[thread] = seen[place]
        following = (place + step) % 4
        cute.arch.sync_threads()
        seen[place] = passed[(thread + 1) % threads] + 1
        cute.arch.sync_threads()
        place = following
    for k in tt.range_constexpr(4):
        out[row, thread, k] = seen[k]


@tt.jit
def places(x: cute.Tensor, out: cute.Tensor, steps: tt.Int32) -> None:
    rows, columns = x.shape
    places_kernel(x, out, steps).launch(grid=rows, block=columns)


def _places(x: Array, steps: int) -> Array:
    seen = np.broadcast_to(np.arange(4, dtype=np.int32), (*x.shape, 4)).copy()
    place = x % 4
    for step in range(steps):
        here = place[..., None]
        passed = np.take_along_axis(seen, here, axis=2)
        np.put_along_axis(seen, here, np.roll(passed, -1, axis=1) + 1, axis=2)
        place = (place + step) % 4
    return seen


@case(8, steps=st.integers(0, 6), **ROWS)
def places_in_registers(steps: int, rows: int, block: int, seed: int) -> None:
    x = whole(seed, (rows, block), np.int32, 2000)
    with output((rows, block, 4), np.int32) as out:
        places(x, out, steps)
        same(out, _places(x, steps))


@tt.kernel
def hashes_kernel(out: cute.Tensor, rounds: tt.Constexpr[int]) -> None:
    """Integers of the thread's number alone, too long to compute again after each barrier."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    passed = shared(tt.Int32, MOST)
    value = thread
    for _ in tt.range_constexpr(rounds):
        value = (value ^ (value >> 3)) * 77 + value
    passed[thread] = value
    cute.arch.sync_threads()
    neighbour = passed[(thread + 1) % threads]
    cute.arch.sync_threads()
    passed[thread] = value - neighbour
    cute.arch.sync_threads()
    out[thread] = value + passed[threads - 1 - thread]


@tt.jit
def hashes(out: cute.Tensor, rounds: tt.Constexpr[int]) -> None:
    hashes_kernel(out, rounds).launch(grid=1, block=out.shape[0])


@case(4, block=block_sizes(), rounds=st.sampled_from([1, 8, 400]))
def hashes_of_the_thread(block: int, rounds: int) -> None:
    value = np.arange(block, dtype=np.int32)
    for _ in range(rounds):
        value = (value ^ (value >> 3)) * np.int32(77) + value
    with output(block, np.int32) as out:
        hashes(out, rounds)
        same(out, value + (value - np.roll(value, -1))[::-1])
