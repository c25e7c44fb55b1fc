# triptych check --schedules 8 program.py
import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def add(x: cute.Tensor, sums: cute.Tensor):
    block = cute.arch.block_idx()[0]
    if cute.arch.thread_idx()[0] == 0:
        for i in range(32):
            sums[block] += x[block * 32 + i]


@tt.jit
def run(x: cute.Tensor, sums: cute.Tensor):
    add(x, sums).launch(grid=8, block=32)


sums = np.zeros(8, np.float32)
run(np.random.default_rng(0).standard_normal(256, np.float32), sums)
total = sums.sum()
