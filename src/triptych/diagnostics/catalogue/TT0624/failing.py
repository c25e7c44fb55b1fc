import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def keeps(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    own = cute.make_rmem_tensor(1 << 17, tt.Float32)
    for i in range(1 << 17):
        own[i] = float(i)
    cute.arch.sync_threads()
    out[thread] = own[thread * 2]


@tt.jit
def run(out: cute.Tensor):
    keeps(out).launch(grid=1, block=1024)


run(np.zeros(1024, np.float32))
