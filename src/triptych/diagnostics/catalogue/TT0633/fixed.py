import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.support.config import override


@tt.kernel
def copies(x: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 32), cute.make_layout(32))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    cute.copy(atom, cute.local_tile(x, (1,), (tidx,)), cute.local_tile(kept, (1,), (tidx,)))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    out[tidx] = kept[tidx]


@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    copies(x, out).launch(grid=1, block=32)


with override(debug="races"):
    run(np.ones(32, np.float32), np.zeros(32, np.float32))
