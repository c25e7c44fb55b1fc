"""A value of a tensor has elements to read, none to write."""

import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack


@tt.jit
def f(x: cute.Tensor):
    value = x.load()
    value[0] = 1.0  # error: TT0301 at "value[0]"


f(from_dlpack(np.zeros(8, np.float32)))
