# triptych check --schedules 8 program.py
import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def add(x: cute.Tensor, total: cute.Tensor):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    cute.arch.atomic_add(total.iterator, x[i])


@tt.jit
def run(x: cute.Tensor, total: cute.Tensor):
    add(x, total).launch(grid=8, block=32)


total = np.zeros(1, np.float32)
run(np.random.default_rng(0).standard_normal(256, np.float32), total)
