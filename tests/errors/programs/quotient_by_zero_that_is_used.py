"""A kernel divides by zero, and one branch uses the quotient."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def share(out: cute.Tensor, a: tt.Int32, b: tt.Int32):
    part = a // b  # error: TT0604 at "a // b"
    if a < 3:
        part = a
    out[cute.arch.thread_idx()[0]] = part


@tt.jit
def launch(out: cute.Tensor, a: tt.Int32, b: tt.Int32):
    share(out, a, b).launch(grid=1, block=8)


launch(np.zeros(8, np.int32), 7, 0)
