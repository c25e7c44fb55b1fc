"""Grid and block without their names."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def fill(x: cute.Tensor):
    x[0] = 1.0


@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(1, 32)  # error: TT0401 at "fill(x).launch(1, 32)"


run(np.zeros(8, np.float32))
