"""One lane's block has another manager behind it: what runs once and what one lane runs cannot be told apart."""

import contextlib

import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def mark(x: cute.Tensor):
    with cute.arch.elect_one(), contextlib.nullcontext():  # error: TT0211 at "cute.arch.elect_one()"
        x[0] = 1


@tt.jit
def run(x: cute.Tensor):
    mark(x).launch(grid=1, block=32)


run(np.zeros(1, np.int32))
