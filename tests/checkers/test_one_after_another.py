"""What one kernel has left in the memory of the checkers says nothing of the next one.

`python -m benchmarks.one_after_another` draws thousands of pairs of kernels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import triptych as tt
from tests.checkers.corpus import PAIRS
from tests.checkers.hopper_pairs import HOPPER
from tests.checkers.sequences import of_pair, walk
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.support.config import override

PLAIN = [pair for pair in PAIRS if pair.name in ("write then read, block 1024", "tree reduction")]
LAST = next(place for place, pair in enumerate(HOPPER) if pair.name == "boxes: nobody waits for a load")
STEPS = 60


def test_right_kernels_say_nothing_in_any_order(tmp_path: Path) -> None:
    chosen = (*HOPPER[LAST % 4 : LAST + 1 : 4], *PLAIN)
    programs = [of_pair(pair, tmp_path, wrong=False) for pair in chosen]
    nothing = [frozenset[tuple[str, frozenset[int]]]()] * len(programs)
    assert not list(map(str, walk(programs, STEPS, 0, nothing)))


@tt.kernel
def load_tile(atom: cute.CopyAtom, tensor: cute.Tensor, out: cute.Tensor, tile: tt.Constexpr[tuple[int, int]]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    rows, columns = tile
    memory = cute.SmemAllocator()
    bar = memory.allocate_array(tt.Int64, 1)
    shared = memory.allocate_tensor(tt.Float32, cute.make_layout(tile, stride=(columns, 1)), 128)
    if thread == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(bar, rows * columns * 4)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    box = cute.group_modes(cute.local_tile(tensor, tile, (0, 0)), 0, 2)
    here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), box)
    if thread < 32:
        cute.copy(atom, there, here, tma_bar_ptr=bar)
    cute.arch.mbarrier_wait(bar, 0)
    for i in range(thread, rows * columns, 64):
        out[i // columns, i % columns] = shared[i // columns, i % columns]


@tt.jit
def launch_tile(x: cute.Tensor, out: cute.Tensor, tile: tt.Constexpr[tuple[int, int]]) -> None:
    layout = cute.make_layout(tile, stride=(tile[1], 1))
    atom, boxes = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, tile)
    load_tile(atom, boxes, out, tile).launch(grid=1, block=64)


def test_tma_boxes_of_other_sizes_leave_no_reads_of_threads() -> None:
    """Words of the larger box would lie where the smaller kernel keeps what its threads have read."""
    with override(debug="races", threads=1, cache=False):
        for tile in ((64, 64), (8, 8), (32, 16), (8, 32), (8, 8)):
            x = np.arange(tile[0] * tile[1], dtype=np.float32).reshape(tile)
            out = np.zeros_like(x)
            launch_tile(from_dlpack(x, assumed_align=16), out, tile)
            assert (x == out).all()
