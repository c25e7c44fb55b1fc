import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.support.config import override


@tt.kernel
def stores(atom: cute.CopyAtom, tensor: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(32), 128)
    shared[thread] = 1.0
    cute.arch.sync_threads()
    here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), shared, cute.local_tile(tensor, (32,), (0,)))
    cute.copy(atom, here, there)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@tt.jit
def run(out: cute.Tensor):
    layout = cute.make_layout(32)
    atom, tensor = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), out, layout, (32,))
    stores(atom, tensor).launch(grid=1, block=32)


with override(debug="async"):
    run(from_dlpack(np.zeros(32, np.float32), assumed_align=16))
