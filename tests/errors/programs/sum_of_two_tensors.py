"""An operator between tensors, which are memory and not values."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.jit
def add(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    z = x + y  # error: TT0301 at "x + y"


add(*(np.zeros(8, np.float32) for _ in range(3)))
