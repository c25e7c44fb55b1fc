"""A column as NumPy writes it: a whole mode is None here."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.jit
def first_column(x: cute.Tensor):
    column = x[:, 0]  # error: TT0901 at "x[:, 0]"
    return column[1]


first_column(np.zeros((2, 3), np.float32))
