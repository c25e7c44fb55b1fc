import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def fill(x: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    x[i] = i


@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)


with override(break_="no_such_file.py:12"):
    run(np.zeros(4, np.int32))
