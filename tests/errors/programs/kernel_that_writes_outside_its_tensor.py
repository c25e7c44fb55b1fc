import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def fill(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    a[block * 64 + thread] = 1.0  # error: TT0610 at "a[block"


@tt.jit
def host(a: cute.Tensor):
    fill(a).launch(grid=2, block=64)


with override(debug="bounds"):
    host(np.zeros(127, np.float32))
