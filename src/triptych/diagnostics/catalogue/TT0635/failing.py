import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def sums(x: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    total = cute.make_rmem_tensor(2, tt.Float32)
    for i in range(4):
        total[i % 2] += x[tidx + i]
    out[tidx] = total[0] + total[1]


@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    sums(x, out).launch(grid=1, block=32)


with override(debug="init"):
    run(np.ones(36, np.float32), np.zeros(32, np.float32))
