import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def sums(out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 65), cute.make_layout(65))
    kept[tidx] = out[tidx]
    cute.arch.sync_threads()
    out[tidx] = kept[tidx] + kept[tidx + 1]  # error: TT0631 at "kept[tidx + 1]"


@tt.jit
def run(out: cute.Tensor):
    sums(out).launch(grid=1, block=64)


with override(debug="init"):
    run(np.zeros(64, np.float32))
