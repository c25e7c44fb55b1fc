"""`len` of a tensor: its extents are in its shape."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.jit
def count(x: cute.Tensor):
    return len(x)  # error: TT0301 at "len(x)"


count(np.zeros(8, np.float32))
