import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.support.config import override


@tt.kernel
def stores(box: cute.CopyAtom, rows: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64), 128)
    tile[tidx] = tt.Float32(tidx)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    parts = cute.group_modes(tile, 0, 1), cute.group_modes(cute.local_tile(rows, (64,), (0,)), 0, 1)
    shared, out = cpasync.tma_partition(box, 0, cute.make_layout(1), *parts)
    if tidx < 32:
        cute.copy(box, shared, out)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@tt.jit
def run(out: cute.Tensor):
    op = cpasync.CopyBulkTensorTileS2GOp()
    box, rows = cpasync.make_tiled_tma_atom(op, out, cute.make_layout(64), (64,))
    stores(box, rows).launch(grid=1, block=64)


with override(debug="races"):
    run(np.zeros(64, np.float32))
