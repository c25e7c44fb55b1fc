"""Copies of boxes beside a plain copy: gigabytes a second, read and written, through shared memory on all threads.

    python -m benchmarks.box_copies [--json]

Rounds are interleaved, so that what else the machine does meets all alike; the best round of each counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.rows import Row, run
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.layout import ComposedLayout, Layout, Swizzle

ROWS, COLUMNS = 4096, 8448
ROUNDS = 9
BAR = 1 / 0.8
"""Times that the plain copy may take."""


@cute.kernel
def through_shared_memory(
    load: cute.CopyAtom, source: cute.Tensor, store: cute.CopyAtom, target: cute.Tensor, layout: tt.Constexpr[Any]
) -> None:
    column, row, _ = cute.arch.block_idx()
    plain = layout.outer if isinstance(layout, ComposedLayout) else layout
    swizzle: Any = layout.inner if isinstance(layout, ComposedLayout) else None
    allocator = cute.SmemAllocator()
    barrier = allocator.allocate_array(tt.Int64, 1)
    shared = allocator.allocate_tensor(load.value_type, plain, 1024, swizzle)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, cute.size_in_bytes(load.value_type, plain))
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    one, tile, grouped = cute.make_layout(1), plain.shape, cute.group_modes(shared, 0, 2)
    tiles = cute.group_modes(cute.local_tile(source, tile, (None, None)), 0, 2)
    here, there = cpasync.tma_partition(load, 0, one, grouped, tiles)
    cute.copy(load, there[None, row, column], here, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    tiles = cute.group_modes(cute.local_tile(target, tile, (None, None)), 0, 2)
    here, there = cpasync.tma_partition(store, 0, one, grouped, tiles)
    cute.copy(store, here, there[None, row, column])
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@cute.kernel
def straight(source: cute.Tensor, target: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    here, there = (cute.zipped_divide(tensor, (4,)) for tensor in (source, target))
    there[None, block * 256 + thread].store(here[None, block * 256 + thread].load())


def by_boxes(layout: Any) -> Callable[[Any, Any], None]:
    """A copy by tiles of a layout in shared memory."""

    @cute.jit
    def copy(source: cute.Tensor, target: cute.Tensor) -> None:
        rows, columns = layout.shape
        load, from_ = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, layout, (rows, columns))
        store, to = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), target, layout, (rows, columns))
        grid = (COLUMNS // columns, ROWS // rows, 1)
        through_shared_memory(load, from_, store, to, layout).launch(grid=grid, block=32)

    return lambda source, target: copy(from_dlpack(source, assumed_align=16), from_dlpack(target, assumed_align=16))


@cute.jit
def by_threads(source: cute.Tensor, target: cute.Tensor) -> None:
    straight(source, target).launch(grid=cute.size(source) // 1024, block=256)


def plain_copy(source: Any, target: Any) -> None:
    by_threads(*(from_dlpack(array.reshape(-1), assumed_align=16) for array in (source, target)))


def measure() -> Sequence[Row]:
    """Each copy is checked once, and then timed in turn with the others."""
    source = np.random.default_rng(0).random((ROWS, COLUMNS), np.float32)
    target = np.zeros_like(source)
    swizzled = ComposedLayout(Swizzle(3, 4, 3), 0, Layout((64, 32), (32, 1)))
    copies = {
        "plain copy": plain_copy,
        "boxes of 8 x 256": by_boxes(Layout((8, 256), (256, 1))),
        "boxes of 64 x 32, swizzled": by_boxes(swizzled),
    }
    times: dict[str, list[float]] = {name: [] for name in copies}
    for name, copy in copies.items():
        target[:] = 0
        copy(source, target)
        assert np.array_equal(source, target), name
    for _ in range(ROUNDS):
        for name, copy in copies.items():
            start = time.perf_counter()
            copy(source, target)
            times[name].append(time.perf_counter() - start)
    best = {name: min(each) for name, each in times.items()}
    figures = [Row(name, 2 * source.nbytes / taken / 1e9, "GB/s") for name, taken in best.items()]
    plain = best["plain copy"]
    ratios = [
        Row(f"{name}: times a plain copy", taken / plain, "x", BAR if "swizzled" not in name else None)
        for name, taken in best.items()
        if name != "plain copy"
    ]
    return [*figures, *ratios]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
