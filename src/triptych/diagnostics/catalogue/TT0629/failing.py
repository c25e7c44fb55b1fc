import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def add_kernel(flag: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread == 0:
        cute.arch.inline_ptx("multimem.red.relaxed.sys.global.add.u32 [$0], 1;", "l", [flag.iterator])


@tt.jit
def add(flag: cute.Tensor) -> None:
    add_kernel(flag).launch(grid=1, block=32)


flag = np.zeros(1, np.int32)
add(flag)
