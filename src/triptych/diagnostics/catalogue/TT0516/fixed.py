# on Linux, or in the Windows Subsystem for Linux
import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def fill(x: cute.Tensor):
    x[cute.arch.thread_idx()[0]] = 1


@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)


run(np.zeros(4, np.int32))
