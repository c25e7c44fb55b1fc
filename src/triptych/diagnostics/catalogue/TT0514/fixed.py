# on a machine whose GPU is an sm_90
import torch

import triptych as tt
from triptych import cute


@tt.kernel
def count(total: cute.Tensor):
    with cute.arch.elect_one():
        total[0] = 1


@tt.jit
def f(total: cute.Tensor):
    count(total).launch(grid=1, block=32)


total = torch.zeros(1, dtype=torch.int32, device="cuda")
tt.compile(f, total, target="nvptx:sm_90a")(total)
