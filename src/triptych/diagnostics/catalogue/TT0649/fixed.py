import torch
from torch.fx.experimental.proxy_tensor import make_fx

import triptych as tt
import triptych.torch
from triptych import cute


@tt.jit
def double(x: cute.Tensor):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2


double_op = triptych.torch.op(double, "mine::double", mutates=("x",))


def f(x):
    y = x + 1
    double_op(y)
    return y


make_fx(f)(torch.zeros(4))
