import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def count(total: cute.Tensor):
    with cute.arch.elect_one():
        total[0] = 1


@tt.jit
def f(total: cute.Tensor):
    count(total).launch(grid=1, block=32)


total = np.zeros(1, np.int32)
tt.compile(f, total, target="cpu")(total)
