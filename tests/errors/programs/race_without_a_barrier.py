import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def reverses(out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 64), cute.make_layout(64))
    kept[tidx] = out[tidx]
    out[tidx] = kept[63 - tidx]  # error: TT0630 at "kept"


@tt.jit
def run(out: cute.Tensor):
    reverses(out).launch(grid=1, block=64)


with override(debug="races"):
    run(np.zeros(64, np.float32))
