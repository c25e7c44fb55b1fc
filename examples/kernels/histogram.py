"""How often each byte occurs: atomics, because many threads count in the same place.

`bins[b] = bins[b] + 1` from two threads at once may count one of them. `atomic_add` counts both, in memory that all
blocks share, or in the shared memory of a block, where only the threads of the block can be in each other's way. The
second way counts most in shared memory and adds up 256 numbers for each block at the end.
"""

from __future__ import annotations

import numpy as np
from measure import agree, main, versus_numpy

import triptych as tt
from triptych import cute

THREADS = 256
BINS = 256
PER_THREAD = 64


@tt.kernel
def count_globally(data: cute.Tensor, bins: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = block * THREADS * PER_THREAD + thread
    for step in range(PER_THREAD):
        i = first + step * THREADS
        if i < cute.size(data):
            cute.arch.atomic_add(bins.iterator + tt.Int32(data[i]), 1)


@tt.kernel
def count_in_blocks(data: cute.Tensor, bins: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(BINS))
    mine[thread] = 0  # as many threads as bins: each clears one, and adds it up in the end
    cute.arch.sync_threads()
    first = block * THREADS * PER_THREAD + thread
    for step in range(PER_THREAD):
        i = first + step * THREADS
        if i < cute.size(data):
            cute.arch.atomic_add(mine.iterator + tt.Int32(data[i]), 1)
    cute.arch.sync_threads()
    if mine[thread] > 0:
        cute.arch.atomic_add(bins.iterator + thread, mine[thread])


@tt.jit
def histogram(data: cute.Tensor, bins: cute.Tensor, kernel: tt.Constexpr) -> None:
    """Add the counts of `data` to `bins`. A kernel may be a `Constexpr` as any function."""
    kernel(data, bins).launch(grid=cute.ceil_div(cute.size(data), THREADS * PER_THREAD), block=THREADS)


KERNELS = {"global atomics": count_globally, "atomics in shared memory": count_in_blocks}


def check() -> None:
    random = np.random.default_rng(0)
    sizes = (1, 1000, 16_384, 100_001)
    for n in sizes:
        for data in (random.integers(0, 256, n, np.uint8), np.full(n, 7, np.uint8)):
            for kernel in KERNELS.values():
                bins = np.zeros(BINS, np.int32)
                histogram(data, bins, kernel)
                agree(bins, np.bincount(data, minlength=BINS))
    print(f"histogram: equal to NumPy for {', '.join(map(str, sizes))} bytes, random and all the same")


def benchmark() -> None:
    data = np.random.default_rng(0).integers(0, 256, 1 << 24, np.uint8)
    bins = np.zeros(BINS, np.int32)
    for name, kernel in KERNELS.items():
        versus_numpy(
            name,
            lambda kernel=kernel: histogram(data, bins, kernel),
            lambda: np.bincount(data, minlength=BINS),
            moved=data.nbytes,
        )


if __name__ == "__main__":
    main(check, benchmark)
