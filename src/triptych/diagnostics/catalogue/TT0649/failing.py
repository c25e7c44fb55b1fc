import torch
from torch.fx.experimental.proxy_tensor import make_fx

import triptych as tt


@tt.jit
def double(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2


def f(x):
    y = x + 1
    double(y)
    return y


make_fx(f)(torch.zeros(4))
