"""A name of CUDA C++."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def fill(x: cute.Tensor):
    x[threadIdx.x] = 1.0  # error: TT0311 at "threadIdx"


@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=8)


run(np.zeros(8, np.float32))
