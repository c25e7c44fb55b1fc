# triptych check program.py
import numpy as np

import triptych as tt
from triptych import cute

OUTPUTS = ["out"]


@tt.kernel
def double(x: cute.Tensor, out: cute.Tensor):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < cute.size(x):
        out[i] = 2 * x[i]


@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    double(x, out).launch(grid=cute.ceil_div(cute.size(x), 32), block=32)


def kernel_fn(x, out):
    run(x, out)


def reference_fn(x, out):
    out[...] = 2 * x


def get_inputs(seed=0):
    return [np.random.default_rng(seed).standard_normal(100, np.float32), np.zeros(100, np.float32)]
