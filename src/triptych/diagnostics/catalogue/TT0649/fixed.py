import torch
from torch.fx.experimental.proxy_tensor import make_fx

import triptych as tt


@tt.jit
def double(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2


@torch.library.custom_op("mine::double", mutates_args={"x"})
def double_op(x: torch.Tensor) -> None:
    double(x)


def f(x):
    y = x + 1
    double_op(y)
    return y


make_fx(f)(torch.zeros(4))
