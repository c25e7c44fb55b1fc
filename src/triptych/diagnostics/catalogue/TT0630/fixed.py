import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def shifts(out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    kept = cute.arch.alloc_smem(tt.Float32, 64)
    values = cute.make_tensor(kept, cute.make_layout(64))
    values[tidx] = tt.Float32(tidx)
    cute.arch.sync_threads()
    out[tidx] = values[63 - tidx]


@tt.jit
def run(out: cute.Tensor):
    shifts(out).launch(grid=1, block=64)


with override(debug="races"):
    run(np.zeros(64, np.float32))
