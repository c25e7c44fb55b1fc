import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def reverse(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64))
    if thread < 40:
        row[thread] = a[thread]
        cute.arch.sync_threads()  # error: TT0621 at "cute"
        a[thread] = row[39 - thread]
    a[thread] += 1.0


@tt.jit
def host(a: cute.Tensor):
    reverse(a).launch(grid=1, block=64)


host(np.zeros(64, np.float32))
